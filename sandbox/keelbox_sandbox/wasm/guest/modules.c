/* Which module names resolve: the four public ones by exact name, and the tool's own files by relative path. Nothing else.
 *
 * Internal modules of the stdlib are called `keelbox:…`; a tool's module name can hold no colon and ends with a file extension, so the
 * two never meet, and neither does a file of the tool called `system/http`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "guest.h"

#define NAME_BYTES 512

int modules_sealed, modules_probing;

static struct { char *name; JSModuleDef *module; } *table;
static uint32_t table_count, table_room;
static char *imports;
static uint32_t imports_bytes, imports_room;

const char *modules_imports(uint32_t *bytes) { *bytes = imports_bytes; return imports; }

static void record_import(const char *name) {
    uint32_t n = strlen(name);
    for (uint32_t i = 0; i < imports_bytes;) { /* once each */
        uint32_t end = i;
        while (imports[end] != '\n') end++;
        if (end - i == n && !memcmp(imports + i, name, n)) return;
        i = end + 1;
    }
    if (imports_room - imports_bytes < n + 1) {
        uint32_t room = imports_room * 2 + n + 1024;
        char *grown = realloc(imports, room);
        if (!grown) return;
        imports = grown;
        imports_room = room;
    }
    memcpy(imports + imports_bytes, name, n);
    imports[imports_bytes + n] = '\n';
    imports_bytes += n + 1;
}

static const char *const public_names[] = {"system/http", "system/agent", "system/log", "system/tools"};

static int is_public(const char *name) {
    for (size_t i = 0; i < sizeof public_names / sizeof *public_names; i++)
        if (!strcmp(name, public_names[i])) return 1;
    return 0;
}

static int has_extension(const char *name) {
    static const char *const known[] = {".js", ".mjs", ".json"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t e = strlen(known[i]);
        if (n > e && !strcmp(name + n - e, known[i]) && name[n - e - 1] != '/') return 1;
    }
    return 0;
}

/* Joins a relative specifier to the folder of base. Returns 0, or -1 if it leaves the root or is malformed. */
static int join(const char *base, const char *name, char *to) {
    const char *slash = strrchr(base, '/');
    size_t used = slash ? (size_t)(slash - base) : 0;
    if (used + strlen(name) + 2 > NAME_BYTES) return -1;
    memcpy(to, base, used);
    while (*name) {
        size_t n = strcspn(name, "/");
        if (n == 0) return -1;
        if (n == 2 && name[0] == '.' && name[1] == '.') {
            if (used == 0) return -1;
            while (used && to[used - 1] != '/') used--;
            if (used) used--;
        } else if (!(n == 1 && name[0] == '.')) {
            if (used) to[used++] = '/';
            memcpy(to + used, name, n);
            used += n;
        }
        name += n;
        if (*name == '/' && !*++name) return -1;
    }
    to[used] = 0;
    return used ? 0 : -1;
}

static char *normalize(JSContext *c, const char *base, const char *name, void *opaque) {
    char to[NAME_BYTES];
    if (!modules_sealed) { /* the stdlib's own imports, at build time */
        if (name[0] != '.') return js_strdup(c, name);
        const char *inside = strncmp(base, "keelbox:", 8) ? base : base + 8;
        char joined[NAME_BYTES];
        if (join(inside, name, joined) < 0) goto leaves;
        snprintf(to, sizeof to, "keelbox:%s", joined);
        return js_strdup(c, to);
    }
    if (is_public(name)) {
        if (modules_probing) record_import(name);
        return js_strdup(c, name);
    }
    if (name[0] != '.' || (name[1] != '/' && !(name[1] == '.' && name[2] == '/'))) {
        JS_ThrowReferenceError(c, "cannot import '%.100s' from '%.100s': only system/http, system/agent, system/log, system/tools "
                                  "and relative files ('./name.js') can be imported", name, base);
        return NULL;
    }
    if (strpbrk(name, "\\:?#%*\"<>|\n\r\t")) {
        JS_ThrowReferenceError(c, "cannot import '%.100s' from '%.100s': a file name holds none of \\ : ? # %% * \" < > |", name, base);
        return NULL;
    }
    if (join(base, name, to) < 0) goto leaves;
    if (!has_extension(to)) {
        JS_ThrowReferenceError(c, "cannot import '%.100s' from '%.100s': write the whole file name, like '%.100s.js'", name, base, name);
        return NULL;
    }
    return js_strdup(c, to);
leaves:
    JS_ThrowReferenceError(c, "cannot import '%.100s' from '%.100s': it is outside the tool's folder", name, base);
    return NULL;
}

static int empty_init(JSContext *c, JSModuleDef *m) { return 0; }

static JSModuleDef *load(JSContext *c, const char *name, void *opaque, JSValueConst attributes) {
    if (modules_probing) {
        record_import(name);
        return JS_NewCModule(c, name, empty_init);
    }
    for (uint32_t i = 0; i < table_count; i++)
        if (!strcmp(table[i].name, name)) return table[i].module;
    JS_ThrowReferenceError(c, "module '%.100s' is not part of this tool: import() reaches files that are also imported statically",
                           name);
    return NULL;
}

static int check_attributes(JSContext *c, void *opaque, JSValueConst attributes) {
    JSPropertyEnum *keys;
    uint32_t count;
    if (JS_GetOwnPropertyNames(c, &keys, &count, attributes, JS_GPN_STRING_MASK) < 0) return -1;
    int ok = count == 0;
    if (count == 1) {
        JSValue value = JS_GetProperty(c, attributes, keys[0].atom);
        const char *key = JS_AtomToCString(c, keys[0].atom), *text = JS_ToCString(c, value);
        ok = key && text && !strcmp(key, "type") && !strcmp(text, "json");
        JS_FreeCString(c, key);
        JS_FreeCString(c, text);
        JS_FreeValue(c, value);
    }
    JS_FreePropertyEnum(c, keys, count);
    if (ok) return 0;
    JS_ThrowTypeError(c, "the one import attribute that exists is { type: 'json' }");
    return -1;
}

void modules_init(void) { JS_SetModuleLoaderFunc2(rt, normalize, load, check_attributes, NULL); }

int modules_read(const uint8_t *from, uint32_t bytes, JSValue *module) {
    JSValue m = JS_ReadObject(ctx, from, bytes, JS_READ_OBJ_BYTECODE);
    if (JS_IsException(m)) return -1;
    if (table_count == table_room) {
        uint32_t room = table_room * 2 + 8;
        void *grown = realloc(table, room * sizeof *table);
        if (!grown) { JS_ThrowOutOfMemory(ctx); return -1; }
        table = grown;
        table_room = room;
    }
    JSAtom atom = JS_GetModuleName(ctx, JS_VALUE_GET_PTR(m));
    const char *name = JS_AtomToCString(ctx, atom);
    JS_FreeAtom(ctx, atom);
    if (!name) return -1;
    table[table_count].name = strdup(name);
    table[table_count++].module = JS_VALUE_GET_PTR(m);
    JS_FreeCString(ctx, name);
    *module = m;
    return 0;
}

int modules_resolve(void) { /* all, also those that only import() reaches: the engine drops the unresolved when another cannot be resolved */
    for (uint32_t i = 0; i < table_count; i++)
        if (JS_ResolveModule(ctx, JS_MKPTR(JS_TAG_MODULE, table[i].module)) < 0) return -1;
    return 0;
}
