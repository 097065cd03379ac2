#include "CCloudKitArchives.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Defined by the Swift module CloudKit.
void cloudkit_register_archived_classes(void);

__attribute__((constructor)) static void register_on_load(void) {
    cloudkit_register_archived_classes();
}

// A class's metadata without Objective-C, from its address point on; pointers to the destructor and the value witness
// table precede it, the members follow it.
struct class_metadata {
    uintptr_t kind;
    const void *superclass;
    uint32_t flags;
    uint32_t instance_address_point;
    uint32_t instance_size;
    uint16_t instance_alignment_mask;
    uint16_t reserved;
    uint32_t class_size;
    uint32_t class_address_point;
    const struct class_descriptor *descriptor;
};

// Offsets in descriptors are relative to the offset's own address; 0 means none.
struct module_descriptor {
    uint32_t flags;
    int32_t parent;
    int32_t name;
};

struct class_descriptor {
    uint32_t flags;
    int32_t parent;
    int32_t name;
    int32_t access_function;
    int32_t fields;
    int32_t superclass_type;
    uint32_t counts_and_offsets[5];
};

enum { kind_mask = 0x1f, kind_module = 0, kind_class = 16, is_unique = 0x40 };

static const char module_name[] = "Foundation";

/// What is allocated for a class, in one piece: offsets between its parts fit 32 bits.
struct archived_class {
    struct module_descriptor module;
    struct class_descriptor class;
    char module_name[sizeof module_name];
    char name[64];
};

static int32_t offset(const int32_t *from, const void *to) {
    return (int32_t)((intptr_t)to - (intptr_t)from);
}

static int looks_as_expected(const struct class_metadata *model, const void *superclass, const char *model_name) {
    if (model->kind != 0 || model->superclass != superclass) return 0;
    if (model->class_address_point < 2 * sizeof(void *) || model->class_address_point % sizeof(void *) != 0) return 0;
    if (model->class_size < model->class_address_point + sizeof *model || model->class_size > 1 << 16) return 0;
    const struct class_descriptor *descriptor = model->descriptor;
    if (!descriptor || (descriptor->flags & kind_mask) != kind_class || descriptor->name == 0) return 0;
    return strcmp((const char *)&descriptor->name + descriptor->name, model_name) == 0;
}

const void *cloudkit_make_archived_class(const void *model_metadata, const void *superclass, const char *model_name,
                                         const void *archived_superclass, const char *name) {
    const struct class_metadata *model = model_metadata;
    if (!looks_as_expected(model, superclass, model_name)) return NULL;

    struct archived_class *made = calloc(1, sizeof *made);
    char *metadata = malloc(model->class_size);
    if (!made || !metadata || strlen(name) >= sizeof made->name) {
        free(made);
        free(metadata);
        return NULL;
    }
    memcpy(made->module_name, module_name, sizeof module_name);
    strcpy(made->name, name);
    made->module.flags = kind_module;
    made->module.name = offset(&made->module.name, made->module_name);
    made->class = *model->descriptor;
    made->class.flags = kind_class | is_unique;
    made->class.parent = offset(&made->class.parent, &made->module);
    made->class.name = offset(&made->class.name, made->name);
    made->class.access_function = made->class.fields = made->class.superclass_type = 0;

    memcpy(metadata, (const char *)model - model->class_address_point, model->class_size);
    struct class_metadata *result = (struct class_metadata *)(metadata + model->class_address_point);
    result->descriptor = &made->class;
    result->superclass = archived_superclass;
    return result;
}
