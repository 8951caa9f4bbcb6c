/* The outbox: a chain of blocks of records. The first block is static, so that a run with a few log lines allocates nothing.
 * A record: u32 type, u32 tag, u32 count of texts, then u32 bytes of each text, then the texts. */
#include <stdlib.h>
#include <string.h>
#include "guest.h"

#define FIRST_BLOCK_BYTES 4096
#define NEXT_BLOCK_BYTES 65536

struct block { uint32_t next, used_bytes, room_bytes; uint8_t data[]; };

static _Alignas(8) uint8_t first_room[sizeof(struct block) + FIRST_BLOCK_BYTES];
static struct block *const first = (struct block *)first_room;
static struct block *last;

int outbox_add(enum record type, uint32_t tag, const struct text *texts, uint32_t count) {
    uint32_t need = 12 + 4 * count;
    for (uint32_t i = 0; i < count; i++) need += texts[i].bytes;
    if (!last) {
        *first = (struct block){0, 0, FIRST_BLOCK_BYTES};
        last = first;
        state.outbox_address = (uint32_t)(uintptr_t)last;
    }
    if (last->room_bytes - last->used_bytes < need) {
        uint32_t room = need > NEXT_BLOCK_BYTES ? need : NEXT_BLOCK_BYTES;
        struct block *b = malloc(sizeof *b + room);
        if (!b) return -1;
        *b = (struct block){0, 0, room};
        last->next = (uint32_t)(uintptr_t)b;
        last = b;
    }
    uint8_t *p = last->data + last->used_bytes;
    uint32_t head[3] = {type, tag, count};
    memcpy(p, head, sizeof head);
    p += sizeof head;
    for (uint32_t i = 0; i < count; i++, p += 4) memcpy(p, &texts[i].bytes, 4);
    for (uint32_t i = 0; i < count; i++) {
        if (!texts[i].bytes) continue;
        memcpy(p, texts[i].data, texts[i].bytes);
        well_formed((char *)p, texts[i].bytes);
        p += texts[i].bytes;
    }
    last->used_bytes += need;
    return 0;
}

void outbox_release(void) {
    if (!last) return;
    for (struct block *b = (struct block *)(uintptr_t)first->next; b;) {
        struct block *next = (struct block *)(uintptr_t)b->next;
        free(b);
        b = next;
    }
    last = NULL;
    state.outbox_address = 0;
}

void well_formed(char *text, size_t bytes) {
    /* The engine writes a lone surrogate as ED A0..BF xx, which is not UTF-8; U+FFFD has the same length. */
    uint8_t *p = (uint8_t *)text, *end = p + bytes;
    while (p + 2 < end && (p = memchr(p, 0xED, end - p - 2))) {
        if (p[1] >= 0xA0) { p[0] = 0xEF; p[1] = 0xBF; p[2] = 0xBD; p += 3; }
        else p++;
    }
}
