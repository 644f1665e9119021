/* Loaded before the C library (LD_PRELOAD): counts the calls of a program that have to do with its output folder, and lets
   the one of the number FAULT_AT fail, or the process die there, as by kill -9. Used by tests/atomic_results.rs, tests/resume.rs and
   tests/exit_codes.rs.

   FAULT_AT    the number of the call, from 1; 0 lets all pass
   FAULT_KIND  "kill-before", "kill-after", or the number of an error
   FAULT_LOG   a file that gets a line with each call's name
   FAULT_SWAP  before so many openings of mesh.msh, other.msh takes its name: it is saved again at that moment
   FAULT_REFUSE  "LOW HIGH NUMBER": of all demands of LOW to HIGH bytes of memory, the one of this number is refused; 0 grants all
   FAULT_DEMANDS  a file that gets how many there were, at the end */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

static long low = -1, high, refused, demands;

static void __attribute__((constructor)) begin(void) {
    const char *refuse = getenv("FAULT_REFUSE");
    if (!refuse || sscanf(refuse, "%ld %ld %ld", &low, &high, &refused) != 3) low = -1;
}

static void __attribute__((destructor)) end(void) {
    const char *path = getenv("FAULT_DEMANDS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld", demands);
    fclose(file);
}

static int refuse(size_t size) {
    if (low < 0 || size < (size_t)low || size > (size_t)high) return 0;
    if (__atomic_add_fetch(&demands, 1, __ATOMIC_SEQ_CST) != refused) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return refuse(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t a, size_t b) { return refuse(a * b) ? NULL : __libc_calloc(a, b); }
void *realloc(void *p, size_t n) { return refuse(n) ? NULL : __libc_realloc(p, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    if (refuse(n)) return ENOMEM;
    *p = __libc_memalign(a, n);
    return *p ? 0 : ENOMEM;
}

static long calls;

static int ours(const char *path) {
    return path && (strstr(path, ".out") || strstr(path, ".farad-"));
}

static int ours_by_number(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return ours(path);
}

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

/* 1 if this call is to fail; errno is set. *after: die once it is done. */
static int fault(const char *name, int *after) {
    *after = 0;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    const char *log = getenv("FAULT_LOG");
    if (log) {
        int (*open_real)(const char *, int, ...) = real("open");
        ssize_t (*write_real)(int, const void *, size_t) = real("write");
        int fd = open_real(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        char line[64];
        int length = snprintf(line, sizeof line, "%s\n", name);
        if (fd >= 0 && write_real(fd, line, length) == length) syscall(SYS_close, fd);
    }
    const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
    if (!at || !kind || number != atol(at)) return 0;
    if (strcmp(kind, "kill-before") == 0) kill(getpid(), SIGKILL);
    if (strcmp(kind, "kill-after") == 0) { *after = 1; return 0; }
    errno = atoi(kind);
    return 1;
}

static void swap(const char *path) {
    static long openings;
    const char *at = getenv("FAULT_SWAP");
    size_t length = path ? strlen(path) : 0;
    if (!at || length < 8 || strcmp(path + length - 8, "mesh.msh") != 0) return;
    if (__atomic_add_fetch(&openings, 1, __ATOMIC_SEQ_CST) == atol(at)) {
        int (*rename_real)(const char *, const char *) = real("rename");
        rename_real("other.msh", "mesh.msh");
    }
}

#define CALL(type, name, concerns, parameters, arguments)            \
    type name parameters {                                           \
        static type(*next) parameters;                               \
        int after = 0;                                               \
        if (!next) next = real(#name);                               \
        if ((concerns) && fault(#name, &after)) return (type)-1;     \
        type result = next arguments;                                \
        if (after) kill(getpid(), SIGKILL);                          \
        return result;                                               \
    }

CALL(int, rename, ours(a) || ours(b), (const char *a, const char *b), (a, b))
CALL(int, link, ours(a) || ours(b), (const char *a, const char *b), (a, b))
CALL(int, linkat, ours(a) || ours(b), (int f, const char *a, int g, const char *b, int h), (f, a, g, b, h))
CALL(int, unlink, ours(a), (const char *a), (a))
CALL(int, unlinkat, ours_by_number(f) || ours(a), (int f, const char *a, int g), (f, a, g))
CALL(int, mkdir, ours(a), (const char *a, mode_t m), (a, m))
CALL(int, rmdir, ours(a), (const char *a), (a))
CALL(int, chmod, ours(a), (const char *a, mode_t m), (a, m))
CALL(int, fsync, ours_by_number(f), (int f), (f))
CALL(int, flock, ours_by_number(f), (int f, int o), (f, o))
CALL(ssize_t, write, ours_by_number(f), (int f, const void *b, size_t n), (f, b, n))
CALL(ssize_t, read, ours_by_number(f), (int f, void *b, size_t n), (f, b, n))
CALL(ssize_t, listxattr, ours(a), (const char *a, char *b, size_t n), (a, b, n))

#define OPEN(name)                                                   \
    int name(const char *a, int flags, ...) {                        \
        static int (*next)(const char *, int, ...);                  \
        int after = 0;                                               \
        if (!next) next = real(#name);                               \
        va_list list;                                                \
        va_start(list, flags);                                       \
        mode_t mode = va_arg(list, mode_t);                          \
        va_end(list);                                                \
        swap(a);                                                     \
        if (ours(a) && fault(#name, &after)) return -1;              \
        int result = next(a, flags, mode);                           \
        if (after) kill(getpid(), SIGKILL);                          \
        return result;                                               \
    }
OPEN(open)
OPEN(open64)

#define OPEN_AT(name)                                                \
    int name(int f, const char *a, int flags, ...) {                 \
        static int (*next)(int, const char *, int, ...);             \
        int after = 0;                                               \
        if (!next) next = real(#name);                               \
        va_list list;                                                \
        va_start(list, flags);                                       \
        mode_t mode = va_arg(list, mode_t);                          \
        va_end(list);                                                \
        int concerns = ours(a) || (f >= 0 && ours_by_number(f));     \
        if (concerns && fault(#name, &after)) return -1;             \
        int result = next(f, a, flags, mode);                        \
        if (after) kill(getpid(), SIGKILL);                          \
        return result;                                               \
    }
OPEN_AT(openat)
OPEN_AT(openat64)

void *opendir(const char *a) {
    static void *(*next)(const char *);
    int after = 0;
    if (!next) next = real("opendir");
    if (ours(a) && fault("opendir", &after)) return NULL;
    void *result = next(a);
    if (after) kill(getpid(), SIGKILL);
    return result;
}

long syscall(long n, ...) {
    static long (*next)(long, ...);
    int after = 0;
    if (!next) next = real("syscall");
    long v[6];
    va_list list;
    va_start(list, n);
    for (int i = 0; i < 6; i++) v[i] = va_arg(list, long);
    va_end(list);
    if (n == SYS_renameat2 && fault("renameat2", &after)) return -1;
    long result = next(n, v[0], v[1], v[2], v[3], v[4], v[5]);
    if (after) kill(getpid(), SIGKILL);
    return result;
}
