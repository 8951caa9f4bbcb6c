/* Entry points: init (once, at build time, before the snapshot), compile, inspect, start, resume. */
#include <stdio.h>
#include <string.h>
#include "guest.h"

struct state state = {ABI_VERSION};
struct start_header limits;
JSRuntime *rt;
JSContext *ctx;
uint8_t *buffer;
uint32_t buffer_room_bytes;

static JSValue main_function, freeze_function;
#define REMEMBERED_COUNT 16
static uint32_t unhandled_count, remembered_count; /* all that nobody handles, and the first of them */
static JSValue unhandled_promises[REMEMBERED_COUNT], unhandled_reasons[REMEMBERED_COUNT];

EXPORT("state_address") struct state *state_address(void) { return &state; }

static int poll(JSRuntime *r, void *opaque) {
    heap_collect_early();
    return *(volatile uint32_t *)&state.interrupt;
}

static void track_rejection(JSContext *c, JSValueConst promise, JSValueConst reason, bool is_handled, void *opaque) {
    if (!is_handled) {
        unhandled_count++;
        if (remembered_count == REMEMBERED_COUNT) return;
        unhandled_promises[remembered_count] = JS_DupValue(c, promise);
        unhandled_reasons[remembered_count++] = JS_DupValue(c, reason);
        return;
    }
    if (unhandled_count) unhandled_count--;
    for (uint32_t i = 0; i < remembered_count; i++) {
        if (JS_VALUE_GET_PTR(promise) != JS_VALUE_GET_PTR(unhandled_promises[i])) continue;
        JS_FreeValue(c, unhandled_promises[i]);
        JS_FreeValue(c, unhandled_reasons[i]);
        for (remembered_count--; i < remembered_count; i++) {
            unhandled_promises[i] = unhandled_promises[i + 1];
            unhandled_reasons[i] = unhandled_reasons[i + 1];
        }
    }
}

/* --- build time ------------------------------------------------------------------------------------------------------------- */

static JSValue exported(const char *module, const char *name) {
    JSValue promise = JS_LoadModule(ctx, "", module), result = JS_EXCEPTION;
    if (JS_IsException(promise)) return promise;
    JSContext *c;
    while (JS_ExecutePendingJob(rt, &c) > 0) {}
    if (JS_PromiseState(ctx, promise) == JS_PROMISE_FULFILLED) {
        JSValue ns = JS_PromiseResult(ctx, promise);
        result = JS_GetPropertyStr(ctx, ns, name);
        JS_FreeValue(ctx, ns);
    } else {
        JS_Throw(ctx, JS_PromiseResult(ctx, promise));
    }
    JS_FreeValue(ctx, promise);
    return result;
}

static uint8_t init_room[1]; /* init's texts come through memory that the builder grows */

/* Makes the engine. */
EXPORT("init") int init(void) {
    buffer = init_room;
    rt = JS_NewRuntime2(&heap_functions, NULL);
    if (!rt) return -1;
    JS_SetMaxStackSize(rt, 256 * 1024);
    JS_SetInterruptHandler(rt, poll, NULL);
    JS_SetHostPromiseRejectionTracker(rt, track_rejection, NULL);
    ctx = JS_NewContextRaw(rt);
    if (!ctx) return -2;
    if (JS_AddIntrinsicBaseObjects(ctx) || JS_AddIntrinsicDate(ctx) || JS_AddIntrinsicEval(ctx) || JS_AddIntrinsicRegExp(ctx) ||
        JS_AddIntrinsicJSON(ctx) || JS_AddIntrinsicProxy(ctx) || JS_AddIntrinsicMapSet(ctx) || JS_AddIntrinsicTypedArrays(ctx) ||
        JS_AddIntrinsicPromise(ctx) || JS_AddIntrinsicBigInt(ctx) || JS_AddIntrinsicWeakRef(ctx) || JS_AddIntrinsicDOMException(ctx) ||
        JS_AddIntrinsicAToB(ctx)) return -3;
    JS_AddIntrinsicRegExpCompiler(ctx);
    modules_init();
    return host_api_init() < 0 ? -4 : 0;
}

/* Adds one module of the stdlib; dependencies first. name and source lie at address, each with a NUL behind it. */
EXPORT("add_module") int add_module(const char *name, uint32_t source_bytes) {
    const char *source = name + strlen(name) + 1;
    JSValue m = JS_Eval(ctx, source, source_bytes, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
    if (JS_IsException(m)) return -1;
    return 0; /* registered under its name; evaluated when ready() loads the module that needs it */
}

#define ERROR_BYTES_MAX 60000 /* snapshot.py reads as much */

static int text_to_state(JSValue error) { /* leaves the error's text and stack in the buffer */
    JSValue stack = JS_GetPropertyStr(ctx, error, "stack");
    const char *text = JS_ToCString(ctx, error), *frames = JS_ToCString(ctx, stack);
    if (text && frames) snprintf((char *)buffer, ERROR_BYTES_MAX, "%s\n%s", text, frames);
    return -1;
}

/* Evaluates the stdlib and closes the door to it. The text of an error is left at scratch. */
EXPORT("ready") int ready(uint8_t *scratch, uint32_t scratch_bytes) {
    buffer = scratch;
    if (JS_HasException(ctx)) return text_to_state(JS_GetException(ctx));
    main_function = exported("keelbox:boot.js", "main");
    if (JS_IsException(main_function)) return text_to_state(JS_GetException(ctx));
    freeze_function = exported("keelbox:boot.js", "deepFreeze");
    if (JS_IsException(freeze_function)) return text_to_state(JS_GetException(ctx));
    describe_function = exported("keelbox:boot.js", "describe");
    if (JS_IsException(describe_function)) return text_to_state(JS_GetException(ctx));
    modules_sealed = 1;
    unhandled_count = 0;
    JS_RunGC(rt);
    memset(scratch, 0, scratch_bytes);
    keelbox_seal_arenas(rt);
    malloc_seal();
    state.heap_peak_bytes = state.heap_bytes;
    return 0;
}

/* --- each run --------------------------------------------------------------------------------------------------------------- */

static uint32_t take_header(uint32_t address, uint32_t room_bytes) {
    buffer = (uint8_t *)(uintptr_t)address;
    buffer_room_bytes = room_bytes;
    state.buffer_address = address;
    memcpy(&limits, buffer, sizeof limits);
    heap_set_limit(limits.heap_bytes);
    JS_UpdateStackTop(rt);
    JS_SetMaxStackSize(rt, limits.stack_bytes);
    /* A collection touches every object of the snapshot, and each touched page becomes this run's own: none before it pays. */
    JS_SetGCThreshold(rt, limits.heap_bytes / 4);
    random_start();
    return sizeof limits;
}

/* What an array or object counts at least: the host makes an object of hundreds of bytes of each, however short its text. */
#define CONTAINER_BYTES 16

static uint32_t finish(void) {
    if (run_failed) return state.phase = PHASE_FAILED;
    if (!run_settled) {
        if (op_pending()) return state.phase = PHASE_SUSPENDED;
        static const struct text deadlock[3] = {{"Deadlock", 8}, {"nothing is in flight, and the promise that exec waits for can never settle", 74}, {"", 0}};
        report(FAIL_DEADLOCK, deadlock);
        return state.phase = PHASE_FAILED;
    }
    if (op_pending()) {
        static const struct text detached[3] = {{"DetachedOp", 10}, {"exec returned without awaiting its request; the request was not sent", 68}, {"", 0}};
        report(FAIL_DETACHED_OP, detached);
        return state.phase = PHASE_FAILED;
    }
    if (remembered_count) {
        report_error(FAIL_UNHANDLED, JS_DupValue(ctx, unhandled_reasons[0]));
        return state.phase = PHASE_FAILED;
    }
    if (unhandled_count) {
        static const struct text forgotten[3] = {{"Error", 5}, {"a promise was rejected", 22}, {"", 0}};
        report(FAIL_UNHANDLED, forgotten);
        return state.phase = PHASE_FAILED;
    }
    const struct { JSValue value; uint32_t limit_bytes; enum failure too_large; } parts[3] = {
        {settled_value, limits.return_bytes, FAIL_RETURN_TOO_LARGE},
        {settled_dictionary, limits.dictionary_bytes, FAIL_DICTIONARY},
        {settled_session, limits.session_bytes, FAIL_SESSION},
    };
    uint32_t used = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t room = buffer_room_bytes - used;
        struct json_writer w = {buffer + used, parts[i].limit_bytes < room ? parts[i].limit_bytes : room};
        w.containers_left = 1 + parts[i].limit_bytes / CONTAINER_BYTES;
        int r = json_write(&w, parts[i].value);
        if (r == JSON_OK) { state.part_bytes[i] = w.used_bytes; used += w.used_bytes; continue; }
        if (r == JSON_THREW) {
            JSValue error = JS_GetException(ctx);
            report_error(JS_IsUncatchableError(error) ? FAIL_INTERRUPTED : FAIL_THREW, error);
        } else {
            static const char *const names[3] = {"value", "dictionary", "session"};
            struct text texts[3] = {{names[i], strlen(names[i])}, {w.fault, strlen(w.fault)}, {"", 0}};
            report(r == JSON_REFUSED ? FAIL_NOT_CLONEABLE : parts[i].too_large, texts);
        }
        return state.phase = PHASE_FAILED;
    }
    return state.phase = PHASE_DONE;
}

static uint32_t pump(void) {
    JSContext *c;
    int r;
    while (!run_failed && (r = JS_ExecutePendingJob(rt, &c)) != 0)
        if (r < 0) {
            JSValue error = JS_GetException(ctx);
            report_error(JS_IsUncatchableError(error) ? FAIL_INTERRUPTED : FAIL_THREW, error);
        }
    return finish();
}

static uint32_t load_failed(void) {
    JSValue error = JS_GetException(ctx);
    report_error(JS_IsUncatchableError(error) ? FAIL_INTERRUPTED : FAIL_LOAD, error);
    return state.phase = PHASE_FAILED;
}

/* Reads the modules that follow the header; the last is the entry. */
static int read_modules(uint32_t *at, JSValue *entry) {
    for (uint32_t i = 0; i < limits.modules_count; i++) {
        uint32_t bytes;
        memcpy(&bytes, buffer + *at, 4);
        if (modules_read(buffer + *at + 4, bytes, entry) < 0) return -1;
        *at += 4 + bytes;
    }
    return modules_resolve();
}

/* Puts the call's data in place before the first module of the tool is evaluated. */
static int provide(JSValue call) {
    static const char *const names[] = {"toolOptions", "flowContext", "dictionary", "session"};
    JSValue global = JS_GetGlobalObject(ctx);
    int r = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && r >= 0; i++)
        r = JS_DefinePropertyValueStr(ctx, global, names[i], JS_GetPropertyStr(ctx, call, names[i]),
                                      JS_PROP_ENUMERABLE | JS_PROP_HAS_WRITABLE | JS_PROP_HAS_CONFIGURABLE);
    JS_FreeValue(ctx, global);
    if (r < 0) return r;
    static const char *const read_only[] = {"ambient", "toolOptions", "flowContext"};
    for (size_t i = 0; i < sizeof read_only / sizeof *read_only && r >= 0; i++) {
        JSValue value = JS_GetPropertyStr(ctx, call, read_only[i]);
        JSValue frozen = JS_Call(ctx, freeze_function, JS_UNDEFINED, 1, (JSValueConst *)&value);
        JS_FreeValue(ctx, value);
        JS_FreeValue(ctx, frozen);
        if (JS_IsException(frozen)) r = -1;
    }
    return r;
}

EXPORT("start") uint32_t start(uint32_t address, uint32_t room_bytes) {
    uint32_t at = take_header(address, room_bytes);
    JSValue entry = JS_UNDEFINED;
    if (read_modules(&at, &entry) < 0) return load_failed();
    JSValue call = JS_ParseJSON(ctx, (char *)buffer + at, limits.call_bytes, "<call>");
    if (JS_IsException(call)) return load_failed();
    JSModuleDef *m = JS_VALUE_GET_PTR(entry);
    if (provide(call) < 0) return load_failed();
    JSValue evaluated = JS_EvalFunction(ctx, entry);
    if (JS_IsException(evaluated)) return load_failed();
    JSValue arguments[3] = {evaluated, JS_GetModuleNamespace(ctx, m), call};
    JSValue r = JS_Call(ctx, main_function, JS_UNDEFINED, 3, (JSValueConst *)arguments);
    if (JS_IsException(r)) {
        JSValue error = JS_GetException(ctx);
        report_error(JS_IsUncatchableError(error) ? FAIL_INTERRUPTED : FAIL_THREW, error);
    }
    JS_FreeValue(ctx, r);
    for (int i = 0; i < 3; i++) JS_FreeValue(ctx, arguments[i]);
    return pump();
}

/* The host has put the op's answer into the buffer: {head JSON, body}. ok = 0: head is {code, message}. */
EXPORT("resume") uint32_t resume(uint32_t ok, uint32_t head_bytes, uint32_t body_bytes) {
    JS_UpdateStackTop(rt);
    outbox_release();
    op_settle(ok, head_bytes, body_bytes);
    return pump();
}

/* Behind the header: module name, NUL, source, NUL. Leaves bytecode and imports in the buffer. */
EXPORT("compile") uint32_t compile(uint32_t address, uint32_t room_bytes, uint32_t source_bytes) {
    uint32_t at = take_header(address, room_bytes);
    const char *name = (char *)buffer + at, *source = name + strlen(name) + 1;
    modules_probing = 1;
    JSValue m = JS_Eval(ctx, source, source_bytes, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
    if (JS_IsException(m)) return load_failed();
    size_t bytes;
    uint8_t *code = JS_WriteObject(ctx, &bytes, m, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
    if (!code) return load_failed();
    uint32_t imports_bytes;
    const char *imports = modules_imports(&imports_bytes);
    if (bytes > buffer_room_bytes || imports_bytes > buffer_room_bytes - bytes) {
        JS_ThrowRangeError(ctx, "the compiled module is larger than the exchange buffer");
        return load_failed();
    }
    memcpy(buffer, code, bytes);
    if (imports_bytes) memcpy(buffer + bytes, imports, imports_bytes);
    state.part_bytes[0] = bytes;
    state.part_bytes[1] = imports_bytes;
    return state.phase = PHASE_DONE;
}

/* Behind the header: modules as for start. Leaves the entry's export names in the buffer as a JSON array. */
EXPORT("inspect") uint32_t inspect(uint32_t address, uint32_t room_bytes) {
    uint32_t at = take_header(address, room_bytes);
    JSValue entry = JS_UNDEFINED;
    if (read_modules(&at, &entry) < 0) return load_failed();
    JSValue names = JS_NewArray(ctx), ns = JS_GetModuleNamespace(ctx, JS_VALUE_GET_PTR(entry));
    if (JS_IsException(names) || JS_IsException(ns)) return load_failed();
    JSPropertyEnum *keys;
    uint32_t count;
    if (JS_GetOwnPropertyNames(ctx, &keys, &count, ns, JS_GPN_STRING_MASK) < 0) return load_failed();
    for (uint32_t i = 0; i < count; i++) JS_SetPropertyUint32(ctx, names, i, JS_AtomToString(ctx, keys[i].atom));
    JS_FreePropertyEnum(ctx, keys, count);
    struct json_writer w = {buffer, buffer_room_bytes, .containers_left = UINT32_MAX};
    if (json_write(&w, names) != JSON_OK) return load_failed();
    state.part_bytes[0] = w.used_bytes;
    return state.phase = PHASE_DONE;
}
