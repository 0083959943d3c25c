/* A library of OpenVINO's plugin that tells it that every processor is Intel's.

   The plugin offers no device on another maker's processor, though OpenVINO runs there. This library
   takes its place in an environment of tests, and hands onnxruntime's functions on to it, but that
   which tells the maker of a device. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const void *(*api)(uint32_t version);
    const char *(*version)(void);
} Base;
typedef void *(*Create)(const char *, const Base *, const void *, void **, size_t, size_t *);
typedef void *(*Release)(void *);

enum { MAKER_OF_DEVICE = 0x9a0 }; /* onnxruntime only ever appends to its table of functions */
enum { READ = 4096 };

static const Base *given;

static uint32_t intel(const void *device) {
    (void)device;
    return 0x8086;
}

static const void *changed(uint32_t version) {
    const void *table = given->api(version);
    char *copy = table ? malloc(READ) : NULL;
    if (copy) {
        memcpy(copy, table, READ);
        *(void **)(copy + MAKER_OF_DEVICE) = (void *)intel;
    }
    return copy;
}

void *CreateEpFactories(const char *name, const Base *base, const void *logger, void **factories,
                        size_t most, size_t *count) {
    static Base mine;
    given = base;
    mine.api = changed;
    mine.version = base->version;
    void *plugin = dlopen(PLUGIN, RTLD_NOW);
    return ((Create)dlsym(plugin, "CreateEpFactories"))(name, &mine, logger, factories, most, count);
}

void *ReleaseEpFactory(void *factory) {
    return ((Release)dlsym(dlopen(PLUGIN, RTLD_NOW), "ReleaseEpFactory"))(factory);
}
