/* A JavaScript value as strict JSON text, the same for results, dictionary, session, request bodies, progress and logs.
 *
 * Taken: null, booleans, finite numbers, strings (lone surrogates become U+FFFD), arrays, plain objects, and whatever an object's own
 * or inherited toJSON makes of it (so a Date is its ISO text). undefined is null at the top and in arrays, and left out in objects.
 * Refused with the path: functions, symbols, BigInt, class instances (Map, Set, Error, typed arrays, promises), NaN and
 * infinities, integers that lost digits (beyond 2^53 - 1), cycles, and nesting deeper than 64. Written bytes are capped while they
 * are written, so that shared references cannot explode. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "guest.h"

#define DEPTH_COUNT 64
#define INTEGER_MAX 9007199254740991.0

struct level { const struct level *up; JSAtom key; int64_t index; void *object; int depth; };

static int grow(struct json_writer *w, size_t n) {
    if (w->room_bytes_max <= w->room_bytes) return JSON_TOO_LARGE;
    uint32_t more = w->room_bytes_max - w->room_bytes, wanted = n > w->room_bytes ? n : w->room_bytes;
    uint32_t room = w->room_bytes + (wanted < more ? wanted : more);
    uint8_t *grown = js_realloc(ctx, w->to, room);
    if (!grown) return JSON_THREW;
    w->to = grown;
    w->room_bytes = room;
    return n > room - w->used_bytes ? JSON_TOO_LARGE : JSON_OK;
}

static int put(struct json_writer *w, const void *data, size_t n) {
    int r;
    if (n > w->room_bytes - w->used_bytes && (r = grow(w, n)) != JSON_OK) {
        size_t part = w->room_bytes - w->used_bytes; /* as much as there is room for: whoever cuts the text may show it */
        if (r == JSON_TOO_LARGE) memcpy(w->to + w->used_bytes, data, part), w->used_bytes += part;
        return r;
    }
    memcpy(w->to + w->used_bytes, data, n);
    w->used_bytes += n;
    return JSON_OK;
}

static int put_string(struct json_writer *w, JSValueConst v) {
    static const char hex[] = "0123456789abcdef";
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, v);
    if (!s) return JSON_THREW;
    well_formed((char *)s, n);
    int r = put(w, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < n && r == JSON_OK; i++) {
        uint8_t c = s[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        char escape[6] = {'\\', 0, '0', '0', 0, 0};
        size_t length = 2;
        switch (c) {
        case '"': case '\\': escape[1] = c; break;
        case '\n': escape[1] = 'n'; break;
        case '\r': escape[1] = 'r'; break;
        case '\t': escape[1] = 't'; break;
        default: escape[1] = 'u'; escape[4] = hex[c >> 4]; escape[5] = hex[c & 15]; length = 6;
        }
        r = put(w, s + from, i - from);
        if (r == JSON_OK) r = put(w, escape, length);
        from = i + 1;
    }
    if (r == JSON_OK) r = put(w, s + from, n - from);
    if (r == JSON_OK) r = put(w, "\"", 1);
    JS_FreeCString(ctx, s);
    return r;
}

static void path_text(const struct level *at, char *to, size_t room) {
    const struct level *chain[DEPTH_COUNT + 2];
    int n = 0;
    for (; at && at->up && n < DEPTH_COUNT + 2; at = at->up) chain[n++] = at;
    size_t used = 0;
    to[0] = 0;
    while (n-- > 0 && used + 40 < room) {
        if (chain[n]->index >= 0) used += snprintf(to + used, room - used, "[%lld]", (long long)chain[n]->index);
        else {
            const char *key = JS_AtomToCString(ctx, chain[n]->key);
            used += snprintf(to + used, room - used, "%s%.30s", used ? "." : "", key ? key : "?");
            JS_FreeCString(ctx, key);
        }
    }
}

static int refused(struct json_writer *w, const struct level *at, const char *what) {
    char path[160];
    path_text(at, path, sizeof path);
    if (path[0]) snprintf(w->fault, sizeof w->fault, "%s at %s", what, path);
    else snprintf(w->fault, sizeof w->fault, "%s", what);
    return JSON_REFUSED;
}

static int refused_instance(struct json_writer *w, const struct level *at, JSValueConst v) {
    char what[64] = "a class instance";
    JSValue constructor = JS_GetPropertyStr(ctx, v, "constructor");
    if (JS_IsException(constructor)) return JSON_THREW;
    if (JS_IsFunction(ctx, constructor)) {
        JSValue name = JS_GetPropertyStr(ctx, constructor, "name");
        if (JS_IsException(name)) { JS_FreeValue(ctx, constructor); return JSON_THREW; }
        const char *s = JS_IsString(name) ? JS_ToCString(ctx, name) : NULL;
        if (s && s[0]) snprintf(what, sizeof what, "an instance of %.30s", s);
        JS_FreeCString(ctx, s);
        JS_FreeValue(ctx, name);
    }
    JS_FreeValue(ctx, constructor);
    return refused(w, at, what);
}

static int is_plain(JSValueConst v) {
    JSValue proto = JS_GetPrototype(ctx, v);
    if (JS_IsException(proto)) return -1;
    int plain = JS_IsNull(proto);
    if (!plain) {
        JSValue object_proto = JS_GetClassProto(ctx, 1 /* JS_CLASS_OBJECT */);
        plain = JS_VALUE_GET_PTR(proto) == JS_VALUE_GET_PTR(object_proto);
        JS_FreeValue(ctx, object_proto);
    }
    JS_FreeValue(ctx, proto);
    return plain;
}

static int put_value(struct json_writer *w, JSValueConst v, const struct level *at);

static int put_number(struct json_writer *w, JSValueConst v, const struct level *at) {
    double d;
    JS_ToFloat64(ctx, &d, v);
    if (!isfinite(d)) return refused(w, at, isnan(d) ? "NaN" : "an infinite number");
    if (fabs(d) > INTEGER_MAX && fabs(d) < 1e21) /* from 1e21 on it is written with an exponent: a measure, not an identifier */
        return refused(w, at, "an integer beyond 2^53 - 1 (make it a string)");
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, v);
    if (!s) return JSON_THREW;
    int r = put(w, s, n);
    JS_FreeCString(ctx, s);
    return r;
}

static int begin(struct json_writer *w, const char *bracket) {
    return w->containers_left-- > 0 ? put(w, bracket, 1) : JSON_TOO_LARGE;
}

static int put_array(struct json_writer *w, JSValueConst v, const struct level *at) {
    int64_t length;
    if (JS_GetLength(ctx, v, &length) < 0) return JSON_THREW;
    int r = begin(w, "[");
    for (int64_t i = 0; i < length && r == JSON_OK; i++) {
        if (i && (r = put(w, ",", 1))) break;
        JSValue item = JS_GetPropertyInt64(ctx, v, i);
        if (JS_IsException(item)) return JSON_THREW;
        struct level here = {at, 0, i, NULL, at->depth + 1};
        r = put_value(w, item, &here);
        JS_FreeValue(ctx, item);
    }
    return r == JSON_OK ? put(w, "]", 1) : r;
}

static int put_object(struct json_writer *w, JSValueConst v, const struct level *at) {
    JSPropertyEnum *keys;
    uint32_t count;
    if (JS_GetOwnPropertyNames(ctx, &keys, &count, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) return JSON_THREW;
    int r = begin(w, "{"), some = 0;
    for (uint32_t i = 0; i < count && r == JSON_OK; i++) {
        JSValue item = JS_GetProperty(ctx, v, keys[i].atom);
        if (JS_IsException(item)) { r = JSON_THREW; break; }
        if (!JS_IsUndefined(item)) {
            struct level here = {at, keys[i].atom, -1, NULL, at->depth + 1};
            if (some++) r = put(w, ",", 1);
            if (r == JSON_OK) {
                JSValue key = JS_AtomToString(ctx, keys[i].atom);
                r = JS_IsException(key) ? JSON_THREW : put_string(w, key);
                JS_FreeValue(ctx, key);
            }
            if (r == JSON_OK) r = put(w, ":", 1);
            if (r == JSON_OK) r = put_value(w, item, &here);
        }
        JS_FreeValue(ctx, item);
    }
    JS_FreePropertyEnum(ctx, keys, count);
    return r == JSON_OK ? put(w, "}", 1) : r;
}

/* Calls toJSON where there is one. Returns 1 and the value that stands for v, 0 for none, or JSON_THREW. */
static int replaced(JSValueConst v, const struct level *at, JSValue *to) {
    JSValue f = JS_GetPropertyStr(ctx, v, "toJSON");
    if (JS_IsException(f)) return JSON_THREW;
    int is = JS_IsFunction(ctx, f);
    if (is) {
        JSValue key = at->index >= 0 ? JS_NewInt64(ctx, at->index) : at->key ? JS_AtomToString(ctx, at->key) : JS_NewString(ctx, "");
        *to = JS_Call(ctx, f, v, 1, (JSValueConst *)&key);
        JS_FreeValue(ctx, key);
        if (JS_IsException(*to)) is = JSON_THREW;
    }
    JS_FreeValue(ctx, f);
    return is;
}

static int put_value(struct json_writer *w, JSValueConst v, const struct level *at) {
    int r;
    switch (JS_VALUE_GET_NORM_TAG(v)) {
    case JS_TAG_UNDEFINED: case JS_TAG_NULL: return put(w, "null", 4);
    case JS_TAG_BOOL: return JS_VALUE_GET_BOOL(v) ? put(w, "true", 4) : put(w, "false", 5);
    case JS_TAG_INT: case JS_TAG_FLOAT64: return put_number(w, v, at);
    case JS_TAG_STRING: case JS_TAG_STRING_ROPE: return put_string(w, v);
    case JS_TAG_OBJECT: break;
    case JS_TAG_SYMBOL: return refused(w, at, "a symbol");
    default: return refused(w, at, JS_IsBigInt(v) ? "a BigInt (make it a string)" : "a value that JSON does not know");
    }
    if (JS_IsFunction(ctx, v)) return refused(w, at, "a function");
    if (at->depth > DEPTH_COUNT) return refused(w, at, "nesting deeper than 64");
    void *object = JS_VALUE_GET_PTR(v);
    for (const struct level *up = at->up; up; up = up->up)
        if (up->object == object) return refused(w, at, "a cycle");
    struct level here = *at;
    here.object = object;
    JSValue instead;
    r = replaced(v, at, &instead);
    if (r < 0) return r;
    if (r) {
        if (JS_IsObject(instead) && !JS_IsFunction(ctx, instead)) {
            /* its toJSON is not asked again, as in JSON.stringify */
            int plain = JS_IsArray(instead) ? 2 : is_plain(instead);
            r = plain < 0 ? JSON_THREW : plain == 2 ? put_array(w, instead, &here) : plain ? put_object(w, instead, &here)
                : refused_instance(w, at, instead);
        } else {
            r = put_value(w, instead, &here);
        }
        JS_FreeValue(ctx, instead);
        return r;
    }
    if (JS_IsArray(v)) return put_array(w, v, &here);
    r = is_plain(v);
    if (r < 0) return JSON_THREW;
    return r ? put_object(w, v, &here) : refused_instance(w, at, v);
}

int json_write(struct json_writer *w, JSValueConst value) {
    struct level top = {NULL, 0, -1, NULL, 1};
    w->used_bytes = 0;
    w->fault[0] = 0;
    return put_value(w, value, &top);
}
