/* The internal module `keelbox:host`: what the stdlib asks of the host. Scripts cannot import it. */
#include <string.h>
#include "guest.h"

enum op_refusal { OP_SEALED = 1, OP_TOO_MANY = 2, OP_TOO_LARGE = 3 };
enum op_mode { MODE_TEXT = 0, MODE_JSON = 1, MODE_BYTES = 2 };
enum write_refusal { WRITE_SEALED = 1, WRITE_TOO_MANY = 2, WRITE_TOO_LARGE = 3, WRITE_STAGED_FULL = 4 };

int run_settled, run_failed;
JSValue settled_value, settled_dictionary, settled_session, describe_function;

static JSValue pending[2]; /* resolve, reject of the op that the host performs */
static int is_pending;
static enum op_mode pending_mode;
static JSValue busy = JS_UNDEFINED; /* array of reject functions: ops begun while another was pending */
#define SPARE_RECORDS_COUNT 200
static uint32_t spare_records_count, busy_count, logs_bytes, logs_count, staged_bytes, writes_count;

int op_pending(void) { return is_pending; }

/* op(kind, mode, head, body) -> promise, or a number (enum op_refusal) */
static JSValue host_op(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    int32_t kind, mode;
    if (JS_ToInt32(c, &kind, argv[0]) || JS_ToInt32(c, &mode, argv[1])) return JS_EXCEPTION;
    if (run_settled) return JS_NewInt32(c, OP_SEALED);
    JSValue functions[2];
    if (is_pending) {
        /* Refused, and told so at the next resume: just before the open op's own answer. Until then nothing of the script can run
         * anyway that does not run now, and a run cannot end with the open op half done. */
        JSValue promise = JS_NewPromiseCapability(c, functions);
        if (JS_IsException(promise)) return promise;
        JS_FreeValue(c, functions[0]);
        if (JS_IsUndefined(busy)) busy = JS_NewArray(c);
        if (JS_IsException(busy) || JS_DefinePropertyValueUint32(c, busy, busy_count++, functions[1], JS_PROP_C_W_E) < 0) {
            JS_FreeValue(c, promise);
            return JS_EXCEPTION;
        }
        return promise;
    }
    if (state.requests_count >= limits.requests_count) return JS_NewInt32(c, OP_TOO_MANY);
    size_t head_bytes, body_bytes = 0;
    const char *head = JS_ToCStringLen(c, &head_bytes, argv[2]), *body_text = NULL;
    if (!head) return JS_EXCEPTION;
    const uint8_t *body = NULL;
    if (JS_IsString(argv[3])) {
        body = (const uint8_t *)(body_text = JS_ToCStringLen(c, &body_bytes, argv[3]));
        if (!body_text) { JS_FreeCString(c, head); return JS_EXCEPTION; }
    } else if (JS_IsObject(argv[3])) {
        body = JS_GetUint8Array(c, &body_bytes, argv[3]);
        if (!body && body_bytes) { JS_FreeCString(c, head); return JS_EXCEPTION; }
    }
    JSValue result;
    if (head_bytes > OP_HEAD_BYTES_MAX || body_bytes > limits.buffer_bytes) {
        result = JS_NewInt32(c, OP_TOO_LARGE);
    } else {
        result = JS_NewPromiseCapability(c, pending);
        if (!JS_IsException(result)) {
            memcpy(buffer, head, head_bytes);
            well_formed((char *)buffer, head_bytes);
            if (body_bytes) memcpy(buffer + head_bytes, body, body_bytes);
            if (body_text) well_formed((char *)buffer + head_bytes, body_bytes);
            is_pending = 1;
            pending_mode = mode;
            state.op_kind = kind;
            state.op_number = ++state.requests_count;
            state.op_head_bytes = head_bytes;
            state.op_body_bytes = body_bytes;
        }
    }
    JS_FreeCString(c, head);
    JS_FreeCString(c, body_text);
    return result;
}

static void call_and_forget(JSValue f, JSValue argument) {
    JSValue r = JS_Call(ctx, f, JS_UNDEFINED, 1, (JSValueConst *)&argument);
    JS_FreeValue(ctx, r);
    JS_FreeValue(ctx, argument);
}

/* Defines, where setting would ask the setters that a script may have put on Object.prototype. */
static int define(JSValue o, const char *name, JSValue value) {
    return JS_DefinePropertyValueStr(ctx, o, name, value, JS_PROP_C_W_E);
}

static JSValue code_object(const char *code) {
    JSValue o = JS_NewObject(ctx);
    define(o, "code", JS_NewString(ctx, code));
    return o;
}

/* Bytes of the character at p, or as a negative number those that one U+FFFD stands for (Encoding standard: maximal subparts). */
static int character_bytes(const uint8_t *p, const uint8_t *end) {
    uint8_t a = *p, low = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : 0x80, high = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : 0xBF;
    int n = 1, whole = a < 0x80 ? 1 : a < 0xC2 ? 0 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : a < 0xF5 ? 4 : 0;
    for (; n < whole && p + n < end && p[n] >= low && p[n] <= high; n++) { low = 0x80; high = 0xBF; }
    return n == whole ? n : -n;
}

/* A body as text. The engine's own decoder takes surrogates, and gives U+FFFD for each byte of a character that is cut off. */
static JSValue decoded(const uint8_t *body, uint32_t bytes) {
    const uint8_t *end = body + bytes, *p = body;
    uint32_t room = 0, broken = 0;
    while (p < end) {
        uint64_t eight;
        if (end - p >= 8 && (memcpy(&eight, p, 8), !(eight & 0x8080808080808080))) { p += 8; room += 8; continue; }
        int n = character_bytes(p, end);
        room += n > 0 ? n : 3;
        broken |= n < 0;
        p += n > 0 ? n : -n;
    }
    if (!broken) return JS_NewStringLen(ctx, (char *)body, bytes);
    uint8_t *text = js_malloc(ctx, room), *to = text;
    if (!text) return JS_EXCEPTION;
    for (p = body; p < end;) {
        int n = character_bytes(p, end), written = n > 0 ? n : 3;
        memcpy(to, n > 0 ? (const char *)p : "\xEF\xBF\xBD", written);
        to += written;
        p += n > 0 ? n : -n;
    }
    JSValue value = JS_NewStringLen(ctx, (char *)text, room);
    js_free(ctx, text);
    return value;
}

/* Adds {ok, body} (and {text, error} where the body should be JSON and is not) to the head that the host gave. */
static int add_body(JSValue to, uint8_t *body, uint32_t bytes) {
    JSValue value;
    int ok = 1;
    if (pending_mode != MODE_BYTES && bytes >= 3 && !memcmp(body, "\xEF\xBB\xBF", 3)) { body += 3; bytes -= 3; }
    if (pending_mode == MODE_BYTES) {
        value = JS_NewUint8ArrayCopy(ctx, body, bytes);
    } else if (pending_mode == MODE_TEXT) {
        value = decoded(body, bytes);
    } else {
        uint8_t after = body[bytes];
        uint32_t refusals = state.memory_refusals_count;
        body[bytes] = 0; /* the parser wants a NUL; the buffer has room for it */
        value = JS_ParseJSON(ctx, (char *)body, bytes, "<response>");
        body[bytes] = after;
        if (JS_IsException(value) && state.memory_refusals_count == refusals) {
            JS_FreeValue(ctx, JS_GetException(ctx));
            uint32_t start = bytes < 1000 ? bytes : 1000;
            while (start < bytes && start && (body[start] & 0xC0) == 0x80) start--;
            define(to, "text", decoded(body, start));
            define(to, "error", JS_NewString(ctx, "not-json"));
            value = JS_NULL;
            ok = 0;
        }
    }
    if (JS_IsException(value)) return -1;
    JSValue status = JS_GetPropertyStr(ctx, to, "status");
    int32_t number = 0;
    JS_ToInt32(ctx, &number, status);
    JS_FreeValue(ctx, status);
    if (define(to, "ok", JS_NewBool(ctx, ok && number >= 200 && number <= 299)) < 0) return -1;
    return define(to, "body", value) < 0 ? -1 : 0;
}

void op_settle(int ok, uint32_t head_bytes, uint32_t body_bytes) {
    is_pending = 0;
    spare_records_count = 0;
    for (uint32_t i = 0; i < busy_count; i++) {
        JSValue reject = JS_GetPropertyUint32(ctx, busy, i);
        call_and_forget(reject, code_object("buffer-busy"));
        JS_FreeValue(ctx, reject);
    }
    if (busy_count) { JS_FreeValue(ctx, busy); busy = JS_UNDEFINED; busy_count = 0; }
    uint8_t after = buffer[head_bytes];
    buffer[head_bytes] = 0;
    JSValue value = JS_ParseJSON(ctx, (char *)buffer, head_bytes, "<host>");
    buffer[head_bytes] = after;
    if (!JS_IsException(value) && ok && add_body(value, buffer + head_bytes, body_bytes) < 0) {
        JS_FreeValue(ctx, value);
        value = JS_EXCEPTION;
    }
    if (JS_IsException(value)) { ok = 0; value = JS_GetException(ctx); }
    call_and_forget(pending[ok ? 0 : 1], value);
    JS_FreeValue(ctx, pending[0]);
    JS_FreeValue(ctx, pending[1]);
}

static int text_of(JSContext *c, JSValueConst v, struct text *to) {
    size_t n;
    to->data = JS_ToCStringLen(c, &n, v);
    to->bytes = n;
    return to->data ? 0 : -1;
}

/* Copies argv as texts into the outbox. */
static JSValue to_outbox(JSContext *c, enum record type, uint32_t tag, JSValueConst *argv, uint32_t count) {
    struct text texts[4] = {0};
    JSValue result = JS_UNDEFINED;
    for (uint32_t i = 0; i < count; i++)
        if (text_of(c, argv[i], &texts[i]) < 0) { result = JS_EXCEPTION; break; }
    if (!JS_IsException(result) && outbox_add(type, tag, texts, count) < 0) result = JS_ThrowOutOfMemory(c);
    for (uint32_t i = 0; i < count; i++) JS_FreeCString(c, texts[i].data);
    return result;
}

/* Whether a text is surely more than this many bytes: a character is one at least. Spares the copy, for which there may be no memory. */
static int surely_more(JSContext *c, JSValueConst text, uint32_t bytes) {
    int64_t length = 0;
    return JS_IsString(text) && JS_GetLength(c, text, &length) == 0 && length > bytes;
}

/* log(level 0..3, text): never throws for a limit; from the first line beyond it on, lines are counted only */
static JSValue host_log(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    int32_t level;
    if (JS_ToInt32(c, &level, argv[0])) return JS_EXCEPTION;
    struct text t;
    if (state.logs_dropped_count || logs_count >= limits.log_lines_count || surely_more(c, argv[1], limits.log_bytes - logs_bytes)) {
        state.logs_dropped_count++;
        return JS_UNDEFINED;
    }
    if (text_of(c, argv[1], &t) < 0) return JS_EXCEPTION;
    if (t.bytes > limits.log_bytes - logs_bytes) {
        state.logs_dropped_count++;
    } else if (outbox_add(RECORD_LOG, level, &t, 1) == 0) {
        logs_count++;
        logs_bytes += t.bytes;
    }
    JS_FreeCString(c, t.data);
    return JS_UNDEFINED;
}

/* write(agentId, sessionID, requestID, prompt) -> 0 or enum write_refusal */
static JSValue host_write(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    if (run_settled) return JS_NewInt32(c, WRITE_SEALED);
    if (writes_count >= limits.writes_count) return JS_NewInt32(c, WRITE_TOO_MANY);
    if (surely_more(c, argv[3], limits.message_bytes)) return JS_NewInt32(c, WRITE_TOO_LARGE);
    struct text prompt;
    if (text_of(c, argv[3], &prompt) < 0) return JS_EXCEPTION;
    uint32_t bytes = prompt.bytes;
    JS_FreeCString(c, prompt.data);
    if (bytes > limits.message_bytes) return JS_NewInt32(c, WRITE_TOO_LARGE);
    if (bytes > limits.staged_bytes - staged_bytes) return JS_NewInt32(c, WRITE_STAGED_FULL);
    JSValue r = to_outbox(c, RECORD_WRITE, 0, argv, 4);
    if (JS_IsException(r)) return r;
    writes_count++;
    staged_bytes += bytes;
    return JS_NewInt32(c, 0);
}

/* Progress and refused ops: a share of the outbox for each stretch between two ops; beyond it they are dropped. */
static JSValue to_outbox_sparingly(JSContext *c, enum record type, JSValueConst *argv, uint32_t count) {
    if (spare_records_count >= SPARE_RECORDS_COUNT) return JS_UNDEFINED;
    spare_records_count++;
    return to_outbox(c, type, 0, argv, count);
}

static JSValue host_progress(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    return to_outbox_sparingly(c, RECORD_PROGRESS, argv, 1);
}

/* refused(kind, method, url, code) */
static JSValue host_refused(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    return to_outbox_sparingly(c, RECORD_REFUSED, argv, 4);
}

static uint32_t random_state[4], random_counter, random_used;
static uint8_t random_block[64];

static uint32_t rotl(uint32_t x, int k) { return x << k | x >> (32 - k); }

/* The next 64 bytes of the ChaCha20 key stream (RFC 8439) under the run's seed: as good as the host's own random source, with no call to it. */
static void random_next_block(void) {
    uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    memcpy(in + 4, limits.seed, 32);
    in[12] = random_counter++;
    memcpy(x, in, sizeof x);
    for (int i = 0; i < 10; i++) {
        static const uint8_t quarters[8][4] = {{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
                                               {0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14}};
        for (int q = 0; q < 8; q++) {
            uint32_t *a = x + quarters[q][0], *b = x + quarters[q][1], *c = x + quarters[q][2], *d = x + quarters[q][3];
            *a += *b; *d = rotl(*d ^ *a, 16);
            *c += *d; *b = rotl(*b ^ *c, 12);
            *a += *b; *d = rotl(*d ^ *a, 8);
            *c += *d; *b = rotl(*b ^ *c, 7);
        }
    }
    for (int i = 0; i < 16; i++) x[i] += in[i];
    memcpy(random_block, x, sizeof x);
    random_used = 0;
}

static void random_bytes(void *to, uint32_t n) { /* n divides 64 */
    if (random_used + n > sizeof random_block) random_next_block();
    memcpy(to, random_block + random_used, n);
    random_used += n;
}

void random_start(void) {
    random_counter = 0;
    random_used = sizeof random_block;
    random_bytes(random_state, sizeof random_state);
    random_state[0] |= 1; /* never all zero */
}

static uint32_t next_random(void) { /* xoshiro128++ */
    uint32_t *s = random_state, result = rotl(s[0] + s[3], 7) + s[0], t = s[1] << 9;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 11);
    return result;
}

static JSValue host_random_number(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    uint64_t bits = (uint64_t)next_random() << 21 | next_random() >> 11;
    return JS_NewFloat64(c, bits * 0x1p-53);
}

static JSValue host_uuid(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    static const char hex[] = "0123456789abcdef";
    uint8_t next_uuid[16];
    random_bytes(next_uuid, sizeof next_uuid);
    next_uuid[6] = (next_uuid[6] & 0x0F) | 0x40;
    next_uuid[8] = (next_uuid[8] & 0x3F) | 0x80;
    char text[36], *p = text;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
        *p++ = hex[next_uuid[i] >> 4];
        *p++ = hex[next_uuid[i] & 15];
    }
    return JS_NewStringLen(c, text, 36);
}

/* json(value, limitBytes, cut) -> text. Throws a TypeError that says what cannot be JSON and where. Beyond the limit (-1: the buffer's
 * size) it throws a RangeError, or with cut gives the start and an ellipsis. Every toJSON and getter is asked once. */
static JSValue host_json(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    int64_t limit;
    int cut = JS_ToBool(c, argv[2]);
    if (JS_ToInt64(c, &limit, argv[1])) return JS_EXCEPTION;
    uint32_t room = limit < 0 || limit > limits.buffer_bytes ? limits.buffer_bytes : (uint32_t)limit, first = room < 4096 ? room : 4096;
    struct json_writer w = {js_malloc(c, first ? first : 1), first, .containers_left = UINT32_MAX, .room_bytes_max = room};
    if (!w.to) return JS_EXCEPTION;
    int r = json_write(&w, argv[0]);
    JSValue text;
    if (r == JSON_OK) {
        text = JS_NewStringLen(c, (char *)w.to, w.used_bytes);
    } else if (r == JSON_TOO_LARGE && cut) {
        uint32_t n = w.used_bytes;
        while (n && (w.to[n - 1] & 0xC0) == 0x80) n--; /* not in the middle of a character */
        if (n && w.to[n - 1] >= 0xC0) n--;
        uint8_t *longer = js_realloc(c, w.to, n + 4);
        if (longer) memcpy((w.to = longer) + n, " \xE2\x80\xA6", 4); /* … */
        text = longer ? JS_NewStringLen(c, (char *)longer, n + 4) : JS_EXCEPTION;
    } else {
        text = r == JSON_REFUSED ? JS_ThrowTypeError(c, "not JSON: %s", w.fault)
            : r == JSON_TOO_LARGE ? JS_ThrowRangeError(c, "more than %u bytes as JSON", room) : JS_EXCEPTION;
    }
    js_free(c, w.to);
    return text;
}

/* settle(value, dictionary, session): exec returned */
static JSValue host_settle(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    if (run_settled) return JS_UNDEFINED;
    run_settled = 1;
    settled_value = JS_DupValue(c, argv[0]);
    settled_dictionary = JS_DupValue(c, argv[1]);
    settled_session = JS_DupValue(c, argv[2]);
    return JS_UNDEFINED;
}

/* The run ends with an op that was begun and never handed to the host: the host is told of it as of a refused one. */
static void op_never_sent(const char *code) {
    uint8_t after = buffer[state.op_head_bytes];
    buffer[state.op_head_bytes] = 0;
    JSValue head = JS_ParseJSON(ctx, (char *)buffer, state.op_head_bytes, "<op>");
    buffer[state.op_head_bytes] = after;
    int http = state.op_kind == 1;
    JSValue argv[4] = {
        JS_NewString(ctx, http ? "http" : "agent"),
        http ? JS_GetPropertyStr(ctx, head, "method") : JS_NewString(ctx, "READ"),
        JS_GetPropertyStr(ctx, head, http ? "url" : "agentId"),
        JS_NewString(ctx, code),
    };
    JS_FreeValue(ctx, to_outbox_sparingly(ctx, RECORD_REFUSED, (JSValueConst *)argv, 4));
    if (JS_HasException(ctx)) JS_FreeValue(ctx, JS_GetException(ctx));
    for (int i = 0; i < 4; i++) JS_FreeValue(ctx, argv[i]);
    JS_FreeValue(ctx, head);
}

void report(enum failure failure, const struct text texts[3]) {
    if (run_failed) return;
    if (is_pending) op_never_sent(failure == FAIL_DETACHED_OP ? "detached-op" : "not-sent");
    run_failed = run_settled = 1;
    state.failure = failure;
    uint32_t used = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t n = texts[i].bytes, room = buffer_room_bytes - used;
        if (n > room) n = room;
        memcpy(buffer + used, texts[i].data, n);
        well_formed((char *)buffer + used, n);
        state.part_bytes[i] = n;
        used += n;
    }
}

/* fail(failure, name, message, stack) */
static JSValue host_fail(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    int32_t failure;
    struct text texts[3] = {0};
    if (JS_ToInt32(c, &failure, argv[0])) return JS_EXCEPTION;
    JSValue result = JS_UNDEFINED;
    for (int i = 0; i < 3; i++)
        if (text_of(c, argv[i + 1], &texts[i]) < 0) { result = JS_EXCEPTION; break; }
    if (!JS_IsException(result)) report(failure, texts);
    for (int i = 0; i < 3; i++) JS_FreeCString(c, texts[i].data);
    return result;
}

void report_error(enum failure failure, JSValue error) {
    JSValueConst argv[2] = {JS_NewInt32(ctx, failure), error};
    state.interrupt = 0; /* a second, hard wall is the host's */
    JSValue r = JS_Call(ctx, describe_function, JS_UNDEFINED, 2, argv);
    JS_FreeValue(ctx, r);
    JS_FreeValue(ctx, error);
    if (run_failed) return;
    JS_FreeValue(ctx, JS_GetException(ctx));
    static const struct text unknown[3] = {{"Error", 5}, {"(an error that could not be read)", 33}, {"", 0}};
    report(failure, unknown);
}

/* freeze(object), without a script's own hands in it */
static JSValue host_freeze(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    if (JS_FreezeObject(c, argv[0]) < 0) return JS_EXCEPTION;
    return JS_DupValue(c, argv[0]);
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("op", 4, host_op), JS_CFUNC_DEF("log", 2, host_log), JS_CFUNC_DEF("write", 4, host_write),
    JS_CFUNC_DEF("progress", 1, host_progress), JS_CFUNC_DEF("refused", 4, host_refused),
    JS_CFUNC_DEF("random", 0, host_random_number), JS_CFUNC_DEF("uuid", 0, host_uuid), JS_CFUNC_DEF("json", 3, host_json),
    JS_CFUNC_DEF("settle", 3, host_settle), JS_CFUNC_DEF("fail", 4, host_fail), JS_CFUNC_DEF("freeze", 1, host_freeze),
};
#define FUNCTIONS_COUNT (sizeof functions / sizeof *functions)

static int module_init(JSContext *c, JSModuleDef *m) { return JS_SetModuleExportList(c, m, functions, FUNCTIONS_COUNT); }

int host_api_init(void) {
    JSModuleDef *m = JS_NewCModule(ctx, "keelbox:host", module_init);
    return m ? JS_AddModuleExportList(ctx, m, functions, FUNCTIONS_COUNT) : -1;
}
