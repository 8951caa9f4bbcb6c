/* malloc, free, calloc, realloc.
 *
 * The C library that comes with the compiler rounds every block up to a power of two (4 KiB becomes 8, 8 MiB + 1 becomes 16) and never
 * joins freed blocks, so that a run's limit and its linear memory drift apart by a factor of two. This allocator keeps them together:
 * boundary tags, neighbours joined on free, free blocks in classes of four per power of two (good fit, constant time).
 *
 * A block: u32 bytes (its whole size, a multiple of 8; bit 0: free), u32 bytes of the block before it (0: first of its segment), data.
 * A segment ends with a used block of 8 bytes. Memory behind the end of the last segment may belong to others (the exchange buffer). */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "guest.h"

#define HEADER_BYTES 8
#define SMALLEST_BYTES 16
#define PAGE_BYTES 65536
#define CLASSES_COUNT 112
#define FRESH_PAGES 16 /* of 64 KiB: a small run grows its memory never */

struct block { uint32_t tag, before; };
struct node { struct block block; struct node *next, *back; };

extern uint8_t __heap_base;
static struct node *bins[CLASSES_COUNT];
static uint64_t filled[2];
static struct block *last_end; /* the end block of the last segment; NULL: the next malloc makes one of fresh..fresh_end */
static uint8_t *fresh = &__heap_base, *fresh_end;

static uint32_t size_of(const struct block *b) { return b->tag & ~7u; }
static int is_free(const struct block *b) { return b->tag & 1; }
static struct block *after(struct block *b) { return (struct block *)((uint8_t *)b + size_of(b)); }
static struct block *before(struct block *b) { return (struct block *)((uint8_t *)b - b->before); }

static uint32_t class_of(uint32_t bytes) {
    uint32_t log = 31 - __builtin_clz(bytes);
    return (log - 4) * 4 + (bytes >> (log - 2) & 3);
}

static void bin_add(struct block *b) {
    uint32_t c = class_of(size_of(b));
    struct node *n = (struct node *)b;
    n->back = NULL;
    n->next = bins[c];
    if (n->next) n->next->back = n;
    bins[c] = n;
    filled[c >> 6] |= 1ull << (c & 63);
}

static void bin_remove(struct block *b) {
    uint32_t c = class_of(size_of(b));
    struct node *n = (struct node *)b;
    if (n->next) n->next->back = n->back;
    if (n->back) n->back->next = n->next;
    else if (!(bins[c] = n->next)) filled[c >> 6] &= ~(1ull << (c & 63));
}

static void release(struct block *b) { /* joins with free neighbours, then bins */
    uint32_t bytes = size_of(b);
    struct block *next = after(b);
    if (is_free(next)) { bin_remove(next); bytes += size_of(next); }
    if (b->before && is_free(before(b))) { b = before(b); bin_remove(b); bytes += size_of(b); }
    b->tag = bytes | 1;
    after(b)->before = bytes;
    bin_add(b);
}

static void split(struct block *b, uint32_t bytes) { /* keeps the first bytes of a used block */
    uint32_t rest = size_of(b) - bytes;
    if (rest < SMALLEST_BYTES) return;
    b->tag = bytes;
    struct block *r = after(b);
    *r = (struct block){rest, bytes};
    after(r)->before = rest;
    release(r);
}

static int segment_add(uint8_t *from, uint8_t *to) {
    struct block *first, *end = (struct block *)(to - HEADER_BYTES);
    if (last_end && (uint8_t *)(last_end + 1) == from) first = last_end; /* adjoining: the old end block becomes part of it */
    else *(first = (struct block *)(((uintptr_t)from + 7) & ~7u)) = (struct block){0, 0};
    first->tag = (uint8_t *)end - (uint8_t *)first;
    *end = (struct block){HEADER_BYTES, first->tag};
    last_end = end;
    release(first);
    return 0;
}

void malloc_seal(void) {
    /* Free blocks of the snapshot are given up: a run that filled its holes would touch, and so copy, a page for almost each of its first
     * allocations. It starts in fresh memory instead, behind the snapshot's image: pages of zeros cost half of copied ones. Nothing
     * is written there now, not even a block's header, or they would belong to the image. */
    for (int c = 0; c < CLASSES_COUNT; c++) {
        for (struct node *n = bins[c]; n; n = n->next) n->block.tag = size_of(&n->block);
        bins[c] = NULL;
    }
    filled[0] = filled[1] = 0;
    fresh = (uint8_t *)(__builtin_wasm_memory_grow(0, FRESH_PAGES) * PAGE_BYTES);
    fresh_end = fresh + FRESH_PAGES * PAGE_BYTES;
    last_end = NULL;
}

static struct block *find(uint32_t bytes) {
    uint32_t c = class_of(bytes);
    int tries = 8; /* blocks of the same class may still be too small */
    for (struct node *n = bins[c]; n && tries--; n = n->next)
        if (size_of(&n->block) >= bytes) return &n->block;
    for (uint32_t w = ++c >> 6; w < 2; w++) {
        uint64_t bits = filled[w] & (w == c >> 6 ? ~0ull << (c & 63) : ~0ull);
        if (bits) return &bins[w * 64 + __builtin_ctzll(bits)]->block;
    }
    return NULL;
}

void *malloc(size_t n) {
    if (n > 0x7fff0000) return NULL;
    uint32_t bytes = (n + HEADER_BYTES + 7) & ~7u;
    if (bytes < SMALLEST_BYTES) bytes = SMALLEST_BYTES;
    if (!last_end) segment_add(fresh, fresh_end ? fresh_end : (uint8_t *)(__builtin_wasm_memory_size(0) * PAGE_BYTES));
    struct block *b = find(bytes);
    if (!b) {
        uint32_t pages = (bytes + 2 * HEADER_BYTES + PAGE_BYTES - 1) / PAGE_BYTES;
        size_t old = __builtin_wasm_memory_grow(0, pages);
        if (old == SIZE_MAX) return NULL;
        segment_add((uint8_t *)(old * PAGE_BYTES), (uint8_t *)((old + pages) * PAGE_BYTES));
        if (!(b = find(bytes))) return NULL;
    }
    bin_remove(b);
    b->tag = size_of(b);
    split(b, bytes);
    return b + 1;
}

void free(void *p) {
    if (p) release((struct block *)p - 1);
}

void *calloc(size_t count, size_t size) {
    size_t n;
    if (__builtin_mul_overflow(count, size, &n)) return NULL;
    void *p = malloc(n);
    return p ? memset(p, 0, n) : NULL;
}

void *realloc(void *p, size_t n) {
    if (!p) return malloc(n);
    if (n > 0x7fff0000) return NULL;
    struct block *b = (struct block *)p - 1, *next = after(b);
    uint32_t had = size_of(b), bytes = (n + HEADER_BYTES + 7) & ~7u;
    if (bytes < SMALLEST_BYTES) bytes = SMALLEST_BYTES;
    if (bytes > had && is_free(next) && had + size_of(next) >= bytes) {
        bin_remove(next);
        b->tag = had += size_of(next);
        after(b)->before = had;
    }
    if (bytes <= had) { split(b, bytes); return p; }
    void *q = malloc(n);
    if (!q) return NULL;
    memcpy(q, p, had - HEADER_BYTES);
    free(p);
    return q;
}

size_t malloc_usable_size(void *p) { return p ? size_of((struct block *)p - 1) - HEADER_BYTES : 0; }
