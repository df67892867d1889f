/* A disk that fails on demand: preloaded into a process, it lets calls fail while a file named
   after the fault exists in $FAULT_FOLDER: full (no space), fsync (I/O error), readonly. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_on(const char *fault) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("FAULT_FOLDER"), fault);
  return access(path, F_OK) == 0;
}

static int is_full(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && is_on("full");
}

static int is_refused(const char *path, int flags) {
  int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
  return writes && strstr(path, ".sqlite3") != NULL && is_on("readonly");
}

static int fail(int error) {
  errno = error;
  return -1;
}

int fsync(int fd) { return is_on("fsync") ? fail(EIO) : REAL(fsync)(fd); }
int fdatasync(int fd) { return is_on("fsync") ? fail(EIO) : REAL(fdatasync)(fd); }

ssize_t write(int fd, const void *data, size_t size) {
  return is_full(fd) ? fail(ENOSPC) : REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  return is_full(fd) ? fail(ENOSPC) : REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  return is_full(fd) ? fail(ENOSPC) : REAL(pwrite64)(fd, data, size, at);
}

#define OPEN(name)                                                     \
  int name(const char *path, int flags, ...) {                         \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;          \
    va_end(more);                                                      \
    return is_refused(path, flags) ? fail(EROFS) : REAL(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
