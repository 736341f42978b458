/* What a process does to the files below one folder, in order, and a disk that is full on command.
 *
 * LD_PRELOAD this with
 *   OPLOG_UNDER  the folder looked at (absolute, without links)
 *   OPLOG_TO     the log that is appended to, outside of that folder; none is written without it
 *   OPLOG_FULL   while a file of this name exists, nothing below the folder can grow (ENOSPC); while
 *                it begins with "r", nothing there is opened for writing either (EACCES)
 *
 * A record: op, inode, number (offset or size), lengths of two byte strings, the strings.
 * The -shm file is left out: it is shared memory, rebuilt after a crash.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct __attribute__((packed)) head {
    char op;
    uint64_t inode, number;
    uint32_t first, second;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static pid_t log_owner;

static const char *below(void) { return getenv("OPLOG_UNDER"); }

static int watched(const char *path)
{
    const char *under = below();
    if (under == NULL || path == NULL)
        return 0;
    size_t n = strlen(under), m = strlen(path);
    if (strncmp(path, under, n) != 0 || (path[n] != '/' && path[n] != 0))
        return 0;
    return !(m > 4 && strcmp(path + m - 4, "-shm") == 0);
}

/* The path of an open file; NULL for what is not looked at. */
static const char *path_of(int fd, char *room)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, room, PATH_MAX - 1);
    if (n <= 0)
        return NULL;
    room[n] = 0;
    return watched(room) ? room : NULL;
}

/* A path as it was named, made absolute. */
static const char *named(int folder, const char *path, char *room)
{
    if (path == NULL)
        return NULL;
    if (path[0] == '/')
        return watched(path) ? path : NULL;
    char base[PATH_MAX];
    if (folder == AT_FDCWD) {
        if (getcwd(base, sizeof base) == NULL)
            return NULL;
    } else {
        char name[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
        ssize_t n = readlink(name, base, sizeof base - 1);
        if (n <= 0)
            return NULL;
        base[n] = 0;
    }
    if (snprintf(room, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
        return NULL;
    return watched(room) ? room : NULL;
}

static int full(void)
{
    const char *flag = getenv("OPLOG_FULL");
    return flag != NULL && syscall(SYS_access, flag, F_OK) == 0;
}

static int read_only(void)
{
    const char *flag = getenv("OPLOG_FULL");
    char first = 0;
    int fd = flag == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, flag, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    ssize_t n = syscall(SYS_read, fd, &first, 1);
    syscall(SYS_close, fd);
    return n == 1 && first == 'r';
}

static uint64_t inode_of(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

static int64_t size_of(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 ? (int64_t)found.st_size : 0;
}

static void begin(void)
{
    pthread_mutex_lock(&one_at_a_time);
    const char *to = getenv("OPLOG_TO");
    if (to != NULL && (log_fd < 0 || log_owner != getpid())) {
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        log_owner = getpid();
    }
    if (log_fd >= 0)
        syscall(SYS_flock, log_fd, LOCK_EX);
}

static void end(void)
{
    int kept = errno;
    if (log_fd >= 0)
        syscall(SYS_flock, log_fd, LOCK_UN);
    pthread_mutex_unlock(&one_at_a_time);
    errno = kept;
}

static void note(char op, uint64_t inode, uint64_t number, const void *first, size_t n,
                 const void *second, size_t m)
{
    if (log_fd < 0)
        return;
    int kept = errno;
    struct head head = {op, inode, number, (uint32_t)n, (uint32_t)m};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)first, n}, {(void *)second, m}};
    ssize_t wrote = syscall(SYS_writev, log_fd, parts, 3);
    if (wrote != (ssize_t)(sizeof head + n + m))
        abort(); /* a log with a hole proves nothing */
    errno = kept;
}


static int opened(int folder, const char *path, int flags, mode_t mode)
{
    char room[PATH_MAX];
    const char *place = named(folder, path, room);
    if (place != NULL && (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) && read_only()) {
        errno = EACCES;
        return -1;
    }
    if (place == NULL || (flags & (O_CREAT | O_TRUNC)) == 0)
        return (int)syscall(SYS_openat, folder, path, flags, mode);
    begin();
    int there = syscall(SYS_access, place, F_OK) == 0;
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && !there)
        note('C', inode_of(fd), 0, place, strlen(place), NULL, 0);
    else if (fd >= 0 && (flags & O_TRUNC))
        note('T', inode_of(fd), 0, NULL, 0, NULL, 0);
    end();
    return fd;
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return opened(AT_FDCWD, path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    int name(int folder, const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return opened(folder, path, flags, mode); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

static ssize_t put(int fd, const void *data, size_t n, int64_t at, int moves)
{
    begin();
    if (moves)
        at = (fcntl(fd, F_GETFL) & O_APPEND) ? size_of(fd) : lseek(fd, 0, SEEK_CUR);
    ssize_t wrote = -1;
    if (full() && at + (int64_t)n > size_of(fd))
        errno = ENOSPC;
    else
        wrote = moves ? syscall(SYS_write, fd, data, n) : syscall(SYS_pwrite64, fd, data, n, at);
    if (wrote > 0)
        note('W', inode_of(fd), (uint64_t)at, data, (size_t)wrote, NULL, 0);
    end();
    return wrote;
}

ssize_t write(int fd, const void *data, size_t n)
{
    char room[PATH_MAX];
    return path_of(fd, room) ? put(fd, data, n, 0, 1) : syscall(SYS_write, fd, data, n);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    char room[PATH_MAX];
    return path_of(fd, room) ? put(fd, data, n, at, 0) : syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }

int ftruncate64(int fd, off64_t size)
{
    char room[PATH_MAX];
    if (path_of(fd, room) == NULL)
        return (int)syscall(SYS_ftruncate, fd, size);
    begin();
    int done = -1;
    if (full() && size > size_of(fd))
        errno = ENOSPC;
    else
        done = (int)syscall(SYS_ftruncate, fd, size);
    if (done == 0)
        note('T', inode_of(fd), (uint64_t)size, NULL, 0, NULL, 0);
    end();
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* Noted when it has come back: until then nothing is promised. */
static int synced(int fd, long how)
{
    char room[PATH_MAX];
    const char *place = path_of(fd, room);
    if (place == NULL)
        return (int)syscall(how, fd);
    begin();
    int done = (int)syscall(how, fd);
    if (done == 0)
        note('S', inode_of(fd), 0, place, strlen(place), NULL, 0);
    end();
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int unlinkat(int folder, const char *path, int flags)
{
    char room[PATH_MAX];
    const char *place = named(folder, path, room);
    if (place == NULL)
        return (int)syscall(SYS_unlinkat, folder, path, flags);
    begin();
    int done = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (done == 0)
        note('U', 0, 0, place, strlen(place), NULL, 0);
    end();
    return done;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    char room[PATH_MAX], other[PATH_MAX];
    const char *old = named(from_folder, from, room), *new = named(to_folder, to, other);
    if (old == NULL || new == NULL)
        return (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
    begin();
    int done = (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
    if (done == 0)
        note('R', 0, 0, old, strlen(old), new, strlen(new));
    end();
    return done;
}

int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int mkdirat(int folder, const char *path, mode_t mode)
{
    char room[PATH_MAX];
    const char *place = named(folder, path, room);
    if (place == NULL)
        return (int)syscall(SYS_mkdirat, folder, path, mode);
    begin();
    int done = (int)syscall(SYS_mkdirat, folder, path, mode);
    if (done == 0)
        note('M', 0, 0, place, strlen(place), NULL, 0);
    end();
    return done;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
