/* The guest's own C: what stands between quickjs-ng and the host.
 *
 * The host trusts nothing in here: it checks every number that it reads from linear memory. So this code keeps the contract for
 * honest scripts; it is not a wall. Everything is single-threaded; one instance serves one run.
 *
 * Memory, in order: C stack (grows down, first, so that an overflow traps), data, the heap, and behind the initial memory the
 * exchange buffer, which the host appends with memory.grow before it calls start().
 */
#ifndef KEELBOX_GUEST_H
#define KEELBOX_GUEST_H

#include <stddef.h>
#include <stdint.h>
#include "quickjs.h"

#define EXPORT(name) __attribute__((export_name(name)))

#define ABI_VERSION 1
#define OP_HEAD_BYTES_MAX (128 * 1024) /* run.py has the same */

/* The module imports nothing: no WASI, no files, no environment. The clock and the random seed lie in memory. */

/* What the guest is doing; the host reads it after each call. */
enum phase { PHASE_NEW = 0, PHASE_SUSPENDED = 1, PHASE_DONE = 2, PHASE_FAILED = 3 };

/* One block the host reads after each call, at the address that state_address() gives. All fields u32, little-endian.
 * keelbox_sandbox/wasm/abi.py has the same list; a test holds them together. */
struct state {
    uint32_t version;
    uint32_t phase;
    uint32_t interrupt;       /* written by the host: 1 = stop at the next poll */
    uint32_t buffer_address;  /* exchange buffer, as start() was told */
    uint32_t op_kind;         /* 1 http, 2 agent; valid while suspended */
    uint32_t op_number;
    uint32_t op_head_bytes;   /* the op's head (JSON) lies at the start of the buffer, its body behind it */
    uint32_t op_body_bytes;
    uint32_t part_bytes[4];   /* texts that lie in the buffer one after the other. done: value, dictionary, session as JSON;
                                 failed: error name, message, stack; compile: bytecode, import names by line */
    uint32_t failure;         /* failed: enum failure */
    uint32_t outbox_address;  /* first block of records that the host has not read yet, 0 = none */
    uint32_t heap_bytes;      /* in use now */
    uint32_t heap_peak_bytes;
    uint32_t memory_refusals_count; /* allocations that the heap limit refused */
    uint32_t requests_count;
    uint32_t logs_dropped_count;
    uint32_t clock_low, clock_high; /* written by the host before each call and at each tick: microseconds since 1970 */
};

enum failure {
    FAIL_THREW = 1, FAIL_LOAD, FAIL_NO_EXEC, FAIL_NOT_CLONEABLE, FAIL_RETURN_TOO_LARGE, FAIL_DETACHED_OP, FAIL_UNHANDLED,
    FAIL_DEADLOCK, FAIL_INTERRUPTED, FAIL_MEMORY, FAIL_DICTIONARY, FAIL_SESSION,
};

/* What the host writes at the start of the buffer before start(): this header, then `modules_count` times
 * {u32 bytes, bytecode} with the entry last, then the call as JSON with a NUL behind it. */
struct start_header {
    uint32_t heap_bytes, stack_bytes, buffer_bytes, return_bytes;
    uint32_t log_bytes, log_lines_count, requests_count, message_bytes;
    uint32_t writes_count, staged_bytes, dictionary_bytes, session_bytes;
    uint8_t seed[32];         /* from the host's random source; Math.random and the UUIDs of the run come from it */
    uint32_t modules_count, call_bytes;
};

extern struct state state;
extern struct start_header limits;
extern JSRuntime *rt;
extern JSContext *ctx;
extern uint8_t *buffer;            /* the exchange buffer */
extern uint32_t buffer_room_bytes; /* its whole size, envelope room included */

/* alloc.c: the allocator that counts, and refuses beyond the limit. */
extern const JSMallocFunctions heap_functions;
void heap_set_limit(uint32_t bytes);
void heap_collect_early(void); /* keeps the collector ahead of the limit; called at polls */

/* malloc.c: the last call before the snapshot; from then on memory comes from a fresh place. */
void malloc_seal(void);
void keelbox_seal_arenas(JSRuntime *rt); /* the same for the engine's small blocks; patched into quickjs.c by build.py */

/* outbox.c: logs, writes, progress and refused ops, in order, for the host to read. Not counted as heap; capped by the limits. */
enum record { RECORD_LOG = 1, RECORD_WRITE = 2, RECORD_PROGRESS = 3, RECORD_REFUSED = 4 };
struct text { const char *data; uint32_t bytes; };
int outbox_add(enum record type, uint32_t tag, const struct text *texts, uint32_t count); /* 0, or -1 without memory */
void outbox_release(void); /* the host has read everything */
void well_formed(char *text, size_t bytes); /* lone surrogates become U+FFFD, in place */

/* json.c: a JavaScript value as strict JSON. */
enum json_fault { JSON_OK = 0, JSON_REFUSED = -1, JSON_TOO_LARGE = -2, JSON_THREW = -3 };
struct json_writer {
    uint8_t *to;
    uint32_t room_bytes, used_bytes;
    uint32_t containers_left; /* arrays and objects that may still come */
    uint32_t room_bytes_max; /* up to here `to` (from js_malloc) is grown; 0 = it is not */
    char fault[256];  /* JSON_REFUSED: what and where */
};
int json_write(struct json_writer *w, JSValueConst value);

/* modules.c: which names resolve, and reading them in. */
void modules_init(void);
int modules_read(const uint8_t *from, uint32_t bytes, JSValue *module); /* -1 with an exception; the module stays owned by ctx */
int modules_resolve(void); /* once all are read; -1 with an exception */
extern int modules_sealed; /* 1 once the stdlib is in: internal names no longer resolve */
extern int modules_probing; /* 1 while compiling: imports are recorded, and answered by empty modules */
const char *modules_imports(uint32_t *bytes); /* recorded names, one a line */

/* host_api.c: the functions of the internal module `keelbox:host`, through which the stdlib reaches the host. */
int host_api_init(void);
int op_pending(void);
/* Settles the pending op with what the host put into the buffer, and rejects the ops that were refused meanwhile. */
void op_settle(int ok, uint32_t head_bytes, uint32_t body_bytes);
/* What the stdlib's main reported. */
extern int run_settled, run_failed;
extern JSValue settled_value, settled_dictionary, settled_session;
void report(enum failure failure, const struct text texts[3]); /* ends the run; puts the texts into the buffer */
void report_error(enum failure failure, JSValue error);       /* the same, of a thrown value; takes it over */
extern JSValue describe_function; /* the stdlib's: (failure, error) -> reports it */
void random_start(void); /* takes the header's seed */

#endif
