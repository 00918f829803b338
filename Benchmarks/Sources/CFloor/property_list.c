#include "floor.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Reads a binary property list, as CFBinaryPList.c of Apple's CoreFoundation describes it. Never reads past its end.
struct list {
    const unsigned char *bytes;
    size_t count;
    size_t offset_size, reference_size, object_count, offsets;
};

static bool number(const struct list *list, size_t offset, size_t size, size_t *value) {
    if (size < 1 || size > 8 || offset > list->count || size > list->count - offset) return false;
    *value = 0;
    for (size_t i = 0; i < size; i++) *value = *value << 8 | list->bytes[offset + i];
    return true;
}

// Reads where an object's content begins, its kind, and its number of elements.
static bool object(const struct list *list, size_t reference, size_t *offset, int *kind, size_t *count) {
    if (reference >= list->object_count) return false;
    if (!number(list, list->offsets + reference * list->offset_size, list->offset_size, offset)) return false;
    size_t marker;
    if (!number(list, *offset, 1, &marker)) return false;
    *offset += 1;
    *kind = marker >> 4;
    *count = marker & 15;
    if (*count < 15) return true;
    size_t integer;
    if (!number(list, *offset, 1, &integer) || integer >> 4 != 1 || (integer & 15) > 3) return false;
    size_t size = (size_t)1 << (integer & 15);
    if (!number(list, *offset + 1, size, count)) return false;
    *offset += 1 + size;
    return *count <= list->count;
}

// Writes a code point in UTF-8.
static size_t put(char *text, uint32_t point) {
    if (point < 0x80) return text[0] = point, 1;
    size_t count = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = count - 1; i > 0; i--, point >>= 6) text[i] = 0x80 | (point & 0x3F);
    text[0] = (0xF00 >> count & 0xFF) | point;
    return count;
}

static bool string(const struct list *list, size_t reference, char *text, size_t size) {
    size_t offset, count, unit;
    int kind;
    if (!object(list, reference, &offset, &kind, &count) || (kind != 5 && kind != 6)) return false;
    size_t written = 0, width = kind == 5 ? 1 : 2;
    for (size_t i = 0; i < count; i++) {
        if (written + 5 > size || !number(list, offset + i * width, width, &unit)) return false;
        uint32_t point = unit;
        if (unit >> 10 == 0x36 && i + 1 < count && number(list, offset + ++i * width, width, &unit))
            point = 0x10000 + ((point & 0x3FF) << 10 | (unit & 0x3FF));
        written += put(text + written, point);
    }
    text[written] = 0;
    return true;
}

const char *floor_string(const struct floor_account *account, const char *key, char *text, size_t text_size) {
    struct list list = {.bytes = account->record, .count = account->record_count};
    size_t top, offset, count;
    int kind;
    text[0] = 0;
    if (list.count < 40 || memcmp(list.bytes, "bplist00", 8) != 0) return "the record is not a property list";
    size_t trailer = list.count - 32;
    bool whole = number(&list, trailer + 6, 1, &list.offset_size) && number(&list, trailer + 7, 1, &list.reference_size)
        && number(&list, trailer + 8, 8, &list.object_count) && number(&list, trailer + 16, 8, &top)
        && number(&list, trailer + 24, 8, &list.offsets) && list.object_count <= list.count
        && list.offsets <= list.count && object(&list, top, &offset, &kind, &count) && kind == 13;
    if (!whole) return "the record is damaged";
    for (size_t i = 0; i < count; i++) {
        char name[64];
        size_t reference;
        if (!number(&list, offset + i * list.reference_size, list.reference_size, &reference)) return "it is damaged";
        if (!string(&list, reference, name, sizeof name) || strcmp(name, key) != 0) continue;
        if (!number(&list, offset + (count + i) * list.reference_size, list.reference_size, &reference)
            || !string(&list, reference, text, text_size))
            return "it is not a string";
        break;
    }
    return NULL;
}
