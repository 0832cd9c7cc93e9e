/* Part of lathe.c: opening packages. */

#ifdef LATHE_NO_FILES

static void retain(struct package *p) { (void)p; }
static void release(struct package *p) { (void)p; }

lathe_status lathe_open(const char *path, const lathe_options *options, lathe_model **model) {
  (void)options;
  if (model) *model = NULL;
  return fail(LATHE_ERROR_FILE, path, "this build of the runtime opens no files: use lathe_open_library");
}

#else

typedef struct mapping {
  const unsigned char *at;
  size_t bytes;
} mapping;

typedef struct package {
  uint32_t users;
  const lathe_library *library;
  void *handle; /* of the dynamic linker */
  int fd;       /* of the library; -1 */
  int sealed;   /* the library's file had its digest, which is right */
  mapping file; /* the tar or the file of parameters, which holds */
  mapping params;
  mapping *members; /* of regions; NULL: there are none */
  int mapped;       /* each is a mapping of its own */
  char name[];
} package;

static void retain(package *p) {
  if (p) add(&p->users, 1);
}

static void release(package *p) {
  if (!p || add(&p->users, (uint32_t)-1) > 0) return;
  for (int32_t i = 0; p->members && p->mapped && i < region_count(p->library); i++)
    if (p->members[i].at) munmap((void *)(uintptr_t)p->members[i].at, p->members[i].bytes);
  free(p->members);
  if (p->handle) dlclose(p->handle);
  if (p->fd >= 0) close(p->fd);
  if (p->file.at) munmap((void *)(uintptr_t)p->file.at, p->file.bytes);
  free(p);
}

/* map_file maps a plain file. With fd the open file stays open. */
static lathe_status map_file(const char *name, const char *path, mapping *m, int *fd) {
  int f = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (f < 0 || fstat(f, &st) != 0) {
    int error = errno;
    if (f >= 0) close(f);
    return fail(LATHE_ERROR_FILE, name, "%s: %s", path, strerror(error));
  }
  void *at = NULL;
  lathe_status status = LATHE_OK;
  if (!S_ISREG(st.st_mode)) status = fail(LATHE_ERROR_FILE, name, "%s is not a plain file", path);
  else if ((uint64_t)st.st_size > SIZE_MAX / 2) status = fail(LATHE_ERROR_MEMORY, name, "%s is larger than this machine's memory can be", path);
  else if (st.st_size > 0 && (at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, f, 0)) == MAP_FAILED)
    status = fail(LATHE_ERROR_FILE, name, "%s cannot be mapped: %s", path, strerror(errno));
  if (fd && status == LATHE_OK) *fd = f;
  else close(f);
  if (status == LATHE_OK) *m = (mapping){at, (size_t)st.st_size};
  return status;
}

static void unmap(mapping *m) {
  if (m->at) munmap((void *)(uintptr_t)m->at, m->bytes);
  *m = (mapping){0};
}

/* within tells whether [off, off + n) lies in [0, size). */
static int within(uint64_t off, uint64_t n, uint64_t size) { return off <= size && n <= size - off; }

/* check_elf checks that a library is for this machine and complete; a dynamic linker may crash on one that is not. The check
 * is against truncation and wrong files, not against malice: a library is code that its user trusts. */
static lathe_status check_elf(const char *name, mapping m) {
  static const struct {
    unsigned code;
    const char *machine;
  } machines[] = {{62, "x86_64"}, {183, "aarch64"}, {243, "riscv64"}, {40, "arm"}, {3, "i386"}, {258, "loongarch64"}, {21, "powerpc64le"}};
  enum { PROGRAM_INTERPRETER = 3 }; /* PT_INTERP: libraries that are loaded have no use for one */
  const unsigned char *b = m.at;
  if (m.bytes < 52 || memcmp(b, "\177ELF", 4) != 0) return fail(LATHE_ERROR_PACKAGE, name, "the library is truncated or not an ELF file");
  const char *machine = "another machine";
  for (int i = 0; i < COUNT(machines); i++)
    if (machines[i].code == little(b + 18, 2)) machine = machines[i].machine;
  int wide = b[4] == 2;
  if (!equal(machine, MACHINE) || (b[4] != 1 && b[4] != 2) || wide != (sizeof(void *) == 8) || b[5] != 1)
    return fail(LATHE_ERROR_TARGET, name, "compiled for %s, this program runs on %s; recompile with --target for this machine", machine, MACHINE);
  size_t header = wide ? 56 : 32;
  uint64_t table = wide ? little(b + 32, 8) : little(b + 28, 4), count = little(b + (wide ? 56 : 44), 2);
  if (little(b + 16, 2) != 3) return fail(LATHE_ERROR_PACKAGE, name, "the library is an ELF file, but not a shared library");
  if (m.bytes < (wide ? 64u : 52u) || little(b + (wide ? 54 : 42), 2) != header || !within(table, header * count, m.bytes))
    return fail(LATHE_ERROR_PACKAGE, name, "the library is truncated or damaged");
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *h = b + table + i * header;
    if (little(h, 4) == PROGRAM_INTERPRETER) return fail(LATHE_ERROR_PACKAGE, name, "is a program, not a package");
    uint64_t off = wide ? little(h + 8, 8) : little(h + 4, 4), bytes = wide ? little(h + 32, 8) : little(h + 16, 4);
    if (little(h, 4) == 1 && !within(off, bytes, m.bytes))
      return fail(LATHE_ERROR_PACKAGE, name, "the library is truncated: a segment ends beyond the file; copy it again");
  }
  return LATHE_OK;
}

/* check_described checks that a library is for this machine and has a descriptor. */
static lathe_status check_described(const char *name, mapping m) {
  lathe_status status = check_elf(name, m);
  if (status != LATHE_OK) return status;
  const unsigned char *b = m.at;
  static const char symbol[] = "\0lathe_library";
  for (size_t i = 0; i + sizeof symbol <= m.bytes; i++) {
    const unsigned char *zero = memchr(b + i, 0, m.bytes - sizeof symbol + 1 - i);
    if (!zero) break;
    i = (size_t)(zero - b);
    if (memcmp(zero, symbol, sizeof symbol) == 0) return LATHE_OK;
  }
  return fail(LATHE_ERROR_PACKAGE, name, "the library is not one of lathe compile (no lathe_library inside): recompile the model");
}

/* check_seal compares a library with the digest at the end of its file, if there is one: that of all bytes before its last four
 * but the weights, [from, to). */
static lathe_status check_seal(package *p, mapping m) {
  static const char magic[] = "lathe\0\rc";
  enum { SEAL = 32, MAGIC = 8 };
  if (m.bytes < SEAL || memcmp(m.at + m.bytes - SEAL, magic, MAGIC) != 0) return LATHE_OK;
  const unsigned char *seal = m.at + m.bytes - SEAL;
  uint64_t end = m.bytes - 4, from = little(seal + 8, 8), to = little(seal + 16, 8);
  if (from <= to && to <= end && crc32c(crc32c(0, m.at, (size_t)from), m.at + to, (size_t)(end - to)) == little(seal + 28, 4)) {
    p->sealed = 1;
    return LATHE_OK;
  }
  return fail(LATHE_ERROR_PACKAGE, p->name,
              "the library is damaged: its bytes do not have the digest that was written with them; copy the package again, or recompile the model");
}

static int write_all(int fd, const unsigned char *at, size_t bytes) {
  while (bytes > 0) {
    ssize_t n = write(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    at += n;
    bytes -= (size_t)n;
  }
  return 1;
}

/* load_temporary is for systems without memory files or /proc. The file has no name any more once it is loaded. */
static void *load_temporary(mapping m) {
  char path[512];
  const char *folder = getenv("TMPDIR");
  int n = snprintf(path, sizeof path, "%s/lathe-XXXXXX", folder && *folder ? folder : "/tmp");
  int fd = n > 0 && (size_t)n < sizeof path ? mkstemp(path) : -1;
  if (fd < 0) return NULL;
  void *handle = write_all(fd, m.at, m.bytes) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  close(fd);
  unlink(path);
  return handle;
}

/* load_library hands a library to the dynamic linker, by the number of an open file: *fd, its own file, or one in memory where that is
 * -1. The linker takes a path it knows for the library it knows: the file stays open as long as the code is loaded, so that no other
 * gets the same number. NULL where that fails, with the cause. No code runs yet. */
static void *load_library(mapping m, int *fd, const char **cause) {
  int ready = *fd >= 0;
  void *handle = NULL;
#ifdef SYS_memfd_create
  if (!ready) {
    *fd = (int)syscall(SYS_memfd_create, "lathe-library", 1u /* close on exec */);
    ready = *fd >= 0 && write_all(*fd, m.at, m.bytes);
  }
#endif
  if (ready) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle) handle = load_temporary(m);
  if (!handle && !(*cause = dlerror())) *cause = "no folder for temporary files";
  return handle;
}

/* load_code loads a complete library, once it has its digest. */
static lathe_status load_code(package *p, mapping m) {
  const char *cause = NULL;
  lathe_status status = check_seal(p, m);
  if (status != LATHE_OK) return status;
  p->handle = load_library(m, &p->fd, &cause);
  if (!p->handle) return fail(LATHE_ERROR_FILE, p->name, "the library cannot be loaded: %s", cause);
  p->library = dlsym(p->handle, "lathe_library");
  if (!p->library) return fail(LATHE_ERROR_PACKAGE, p->name, "the library is not one of lathe compile (no lathe_library inside): recompile the model");
  status = check_library(p->name, p->library);
  if (status == LATHE_OK && flags_of(p->library) & LATHE_SEALED && !p->sealed)
    return fail(LATHE_ERROR_PACKAGE, p->name, "the library has lost the digest at its end: it is truncated, or another program rewrote it; copy it again");
  return status == LATHE_OK ? check_cpu(p->name, p->library) : status;
}

/* needs_params tells whether a loaded library's weights are elsewhere. */
static int needs_params(const lathe_library *l) { return !l->weights && l->param_count > 0; }

enum { BLOCK = 512, MOST_MEMBERS = 4096 };

/* tar_number reads a number of a tar header: octal digits, or eight big-endian bytes after one with the highest bit. */
static uint64_t tar_number(const unsigned char *field, int n) {
  uint64_t v = 0;
  if (field[0] & 0x80) {
    if (field[0] != 0x80) return UINT64_MAX;
    for (int i = 1; i < n; i++) {
      if (v >> 55) return UINT64_MAX;
      v = v << 8 | field[i];
    }
    return v;
  }
  int i = 0;
  while (i < n && field[i] == ' ') i++;
  for (; i < n && field[i] >= '0' && field[i] <= '7'; i++) v = v * 8 + (uint64_t)(field[i] - '0');
  return i < n && field[i] && field[i] != ' ' ? UINT64_MAX : v;
}

/* tar_checksum is the sum of a header's bytes with blanks for the sum itself. */
static uint64_t tar_checksum(const unsigned char *h) {
  uint64_t sum = 0;
  for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : h[i];
  return sum;
}

/* tar_member is a part of a package in a tar. */
typedef struct tar_member {
  const char *name;
  mapping content; /* at is NULL when the tar has none */
} tar_member;

/* read_tar finds members. They lie in the mapped file. */
static lathe_status read_tar(const char *name, mapping m, tar_member *wanted, int count) {
  size_t at = 0;
  int ended = 0; /* blocks of zeros end a tar */
  for (int members = 0; m.bytes - at >= BLOCK && !ended; members++) {
    const unsigned char *h = m.at + at;
    if ((ended = !h[0])) break;
    if (members == MOST_MEMBERS) return fail(LATHE_ERROR_PACKAGE, name, "a tar with more than %d members is not a package", MOST_MEMBERS);
    if (memcmp(h + 257, "ustar", 5) != 0 || tar_number(h + 148, 8) != tar_checksum(h))
      return fail(LATHE_ERROR_PACKAGE, name, "damaged tar archive: a header is wrong");
    uint64_t size = tar_number(h + 124, 12);
    at += BLOCK;
    char type = (char)h[156];
    const char *part = (const char *)h;
    size_t n = strnlen(part, 100);
    int prefixed = memcmp(h + 257, "ustar\0", 6) == 0 && h[345];
    if (n >= 2 && part[0] == '.' && part[1] == '/') part += 2, n -= 2; /* of a folder that was packed again */
    tar_member *found = NULL;
    for (int i = 0; i < count && !prefixed; i++)
      if (length(wanted[i].name) == n && memcmp(wanted[i].name, part, n) == 0) found = &wanted[i];
    if (type == '5' || type == '1' || type == '2') size = 0; /* folders and links have no content */
    if (size > m.bytes - at)
      return fail(LATHE_ERROR_PACKAGE, name, "truncated tar archive: %n should have %l bytes, %z are there; copy it again",
                  part, n, (int64_t)size, m.bytes - at);
    if (found && type != '0' && type != 0) return fail(LATHE_ERROR_PACKAGE, name, "the tar holds %s, but not as a plain file", found->name);
    if (found && found->content.at) return fail(LATHE_ERROR_PACKAGE, name, "the tar holds %s twice", found->name);
    if (found) found->content = (mapping){m.at + at, (size_t)size};
    size_t rest = m.bytes - at; /* the padding of the last part may be missing */
    size_t step = ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
    at += step < rest ? step : rest;
  }
  for (int i = 0; i < count && !ended; i++)
    if (!wanted[i].content.at)
      return fail(LATHE_ERROR_PACKAGE, name, "truncated tar archive: %s is not in its %b; copy it again", wanted[i].name, m.bytes);
  return LATHE_OK;
}

/* A path is built in a buffer of this size; longer ones the system does not take either. */
enum { PATH_BYTES = 4096 + 128 };

static int exists(const char *path) {
  struct stat st;
  return stat(path, &st) == 0;
}

#ifdef LATHE_NO_EXTERNAL

static lathe_status tar_regions(package *p) {
  (void)p;
  return LATHE_OK;
}

static lathe_status file_regions(package *p, const char *prefix, size_t n, int beside) {
  (void)p, (void)prefix, (void)n, (void)beside;
  return LATHE_OK;
}

#else

/* tar_regions finds the members of regions in a tar. One that is not there leaves its region to the package's own steps. */
static lathe_status tar_regions(package *p) {
  int32_t count = region_count(p->library);
  if (count == 0) return LATHE_OK;
  tar_member *wanted = calloc((size_t)count, sizeof *wanted);
  p->members = calloc((size_t)count, sizeof *p->members);
  lathe_status status = LATHE_OK;
  if (!wanted || !p->members) status = fail(LATHE_ERROR_MEMORY, p->name, "no memory for its parts");
  for (int32_t i = 0; status == LATHE_OK && i < count; i++) wanted[i].name = p->library->regions[i].member;
  if (status == LATHE_OK) status = read_tar(p->name, p->file, wanted, count);
  for (int32_t i = 0; status == LATHE_OK && i < count; i++) p->members[i] = wanted[i].content;
  free(wanted);
  return status;
}

/* file_regions maps the members of regions whose files begin with the first n bytes of prefix: those of a folder, or, with beside,
 * NAME.000_dnnl.bin where the library is NAME.so. */
static lathe_status file_regions(package *p, const char *prefix, size_t n, int beside) {
  int32_t count = region_count(p->library);
  lathe_status status = LATHE_OK;
  if (count == 0) return LATHE_OK;
  p->mapped = 1;
  if (!(p->members = calloc((size_t)count, sizeof *p->members))) return fail(LATHE_ERROR_MEMORY, p->name, "no memory for its parts");
  for (int32_t i = 0; status == LATHE_OK && i < count; i++) {
    const char *file = p->library->regions[i].member, *slash = strrchr(file, '/');
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.*s%s%s", (int)n, prefix, beside ? "." : "/", beside && slash ? slash + 1 : file);
    if (exists(path)) status = map_file(p->name, path, &p->members[i], NULL);
  }
  return status;
}

#endif

/* open_tar maps a tar and loads its library. */
static lathe_status open_tar(package *p) {
  tar_member members[] = {{"mod.so", {0}}, {"mod.params", {0}}, {"lathe.json", {0}}};
  lathe_status status = read_tar(p->name, p->file, members, COUNT(members));
  if (status != LATHE_OK) return status;
  if (!members[2].content.at)
    return fail(LATHE_ERROR_PACKAGE, p->name, "no lathe.json inside: this is no package of lathe compile; one of Apache TVM needs TVM's runtime");
  if (!members[0].content.at) return fail(LATHE_ERROR_PACKAGE, p->name, "mod.so is missing in the tar");
  status = check_described(p->name, members[0].content);
  if (status == LATHE_OK) status = load_code(p, members[0].content);
  if (status != LATHE_OK) return status;
  p->params = members[1].content;
  if (needs_params(p->library) && !p->params.at) return fail(LATHE_ERROR_PACKAGE, p->name, "mod.params is missing in the tar");
  return tar_regions(p);
}

/* open_library loads a library from its own file and maps what it needs beside it: the parameters, and the members of regions. */
static lathe_status open_library(package *p, const char *path, const char *params, const char *prefix, size_t n, int beside) {
  mapping m;
  lathe_status status = map_file(p->name, path, &m, &p->fd);
  if (status != LATHE_OK) return status;
  status = check_described(p->name, m);
  if (status == LATHE_OK) status = load_code(p, m);
  unmap(&m);
  if (status == LATHE_OK) status = file_regions(p, prefix, n, beside);
  if (status != LATHE_OK || !needs_params(p->library)) return status;
  if (!exists(params)) return fail(LATHE_ERROR_FILE, p->name, "%s is missing: it holds the weights", params);
  status = map_file(p->name, params, &p->file, NULL);
  p->params = p->file;
  return status;
}

/* open_stem opens STEM.so, where stem is the first n bytes of path. */
static lathe_status open_stem(package *p, const char *path, size_t n) {
  char library[PATH_BYTES], params[PATH_BYTES];
  snprintf(library, sizeof library, "%.*s.so", (int)n, path);
  snprintf(params, sizeof params, "%.*s.params", (int)n, path);
  return open_library(p, library, params, path, n, 1);
}

/* stem_of removes a suffix; 0 when path ends in another way. */
static size_t stem_of(const char *path, const char *suffix) {
  size_t n = length(path), k = length(suffix);
  return n > k && equal(path + n - k, suffix) ? n - k : 0;
}

/* identify says what a file is that is no package. */
static const char *identify(const char *path, mapping m) {
  static const struct {
    const char *prefix, *what;
  } kinds[] = {
      {"version https://git-lfs", "is a Git LFS pointer, not the file itself: run git lfs pull"},
      {"\x1f\x8b", "is compressed with gzip; packages are read in place: decompress it with gunzip first"},
      {"\x28\xb5\x2f\xfd", "is compressed with zstd; packages are read in place: decompress it first"},
      {"\xfd" "7zXZ", "is compressed with xz; packages are read in place: decompress it first"},
      {"BZh", "is compressed with bzip2; packages are read in place: decompress it first"},
      {"PK\x03\x04", "is a zip archive, not a package"},
      {"<!DOCTYPE", "is an HTML page, probably saved instead of a download"},
      {"<html", "is an HTML page, probably saved instead of a download"},
  };
  static const char *const models[] = {".onnx", ".tflite", ".pb", ".h5", ".keras", ".pth", ".pt", ".pdmodel", ".relay"};
  if (m.bytes == 0) return "is empty";
  for (int i = 0; i < COUNT(kinds); i++)
    if (is_prefix(kinds[i].prefix, m.at, m.bytes)) return kinds[i].what;
  for (int i = 0; i < COUNT(models); i++)
    if (stem_of(path, models[i])) return "is a model, not a package: compile it first with lathe compile";
  return "is not a package: neither a tar archive nor a shared library";
}

/* open_package finds out what the path is and opens it. */
static lathe_status open_package(package *p) {
  static const char *const beside[] = {".lathe.json", ".json", ".params"};
  const char *path = p->name;
  char other[PATH_BYTES], params[PATH_BYTES];
  struct stat st;
  if (length(path) > PATH_BYTES - 128) return fail(LATHE_ERROR_FILE, NULL, "the path has %b: it is too long", length(path));
  if (stat(path, &st) != 0) {
    int error = errno;
    snprintf(other, sizeof other, "%s.so", path);
    if (error == ENOENT && exists(other)) return open_stem(p, path, length(path));
    return fail(LATHE_ERROR_FILE, path, "%s", error == ENOENT ? "no such file" : strerror(error));
  }
  if (S_ISDIR(st.st_mode)) {
    snprintf(other, sizeof other, "%s/mod.so", path);
    snprintf(params, sizeof params, "%s/mod.params", path);
    if (!exists(other)) return fail(LATHE_ERROR_FILE, path, "the folder has no mod.so: it is not an unpacked package");
    return open_library(p, other, params, path, length(path), 0);
  }
  for (int i = 0; i < COUNT(beside); i++) {
    size_t n = stem_of(path, beside[i]);
    snprintf(other, sizeof other, "%.*s.so", (int)n, path);
    if (n > 0 && exists(other)) return open_stem(p, path, n);
  }
  lathe_status status = map_file(NULL, path, &p->file, NULL);
  if (status != LATHE_OK) return status;
  if (p->file.bytes >= BLOCK && memcmp(p->file.at + 257, "ustar", 5) == 0) return open_tar(p);
  if (!is_prefix("\177ELF", p->file.at, p->file.bytes)) return fail(LATHE_ERROR_PACKAGE, path, "%s", identify(path, p->file));
  unmap(&p->file);
  size_t n = stem_of(path, ".so");
  snprintf(other, sizeof other, "%s.so", path);
  if (n == 0 && exists(other)) return open_stem(p, path, length(path)); /* a program may be called as its model is */
  if (n == 0) n = length(path);
  snprintf(params, sizeof params, "%.*s.params", (int)n, path);
  return open_library(p, path, params, path, n, 1);
}

/* Weights up to this size are compared with their digest on opening, which otherwise does not read them. */
enum { CHECKED_AT_ONCE = 4 << 20 };

lathe_status lathe_open(const char *path, const lathe_options *options, lathe_model **model) {
  if (!model) return fail(LATHE_ERROR_ARGUMENT, path, "lathe_open: no place for the model");
  *model = NULL;
  if (!path) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_open: no path");
  package *p = calloc(1, sizeof *p + length(path) + 1);
  if (!p) return fail(LATHE_ERROR_MEMORY, path, "no memory for its name");
  memcpy(p->name, path, length(path) + 1);
  p->users = 1;
  p->fd = -1;
  lathe_status status = open_package(p);
  if (status == LATHE_OK)
    status = make_model(p->library, p->name, p, p->params.at, p->params.bytes, options ? options : &default_options, model);
  if (status != LATHE_OK) {
    release(p);
    return status;
  }
  const lathe_library *l = p->library;
  if ((l->weights ? l->weights_size : p->params.bytes) <= CHECKED_AT_ONCE) status = check_weights(p->name, l, p->params.at, p->params.bytes);
  if (status == LATHE_OK) return status;
  lathe_close(*model);
  *model = NULL;
  return status;
}

#endif
