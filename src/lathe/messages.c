/* Part of lathe.c: messages and statuses. */

#ifdef LATHE_NO_THREADS
static char last_error[512];
#else
static _Thread_local char last_error[512];
#endif

/* text appends to a buffer; what does not fit is dropped, and finish shows that. */
typedef struct text {
  char *at;
  char *end; /* the byte for the final zero */
  int cut;
} text;

static void put(text *t, char c) {
  if (t->at < t->end) *t->at++ = c;
  else t->cut = 1;
}

/* finish ends the text, and one that was cut with "...", in front of a whole character of UTF-8. */
static void finish(text *t) {
  if (t->cut) {
    t->at -= 3;
    while ((*t->at & 0xc0) == 0x80) t->at--;
    for (int i = 0; i < 3; i++) *t->at++ = '.';
  }
  *t->at = 0;
}

SMALL static void put_string(text *t, const char *s) {
  while (*s) put(t, *s++);
}

/* put_name writes a name in quotes, without what would break the line. */
static void put_name(text *t, const char *s, size_t n) {
  put(t, '"');
  for (size_t i = 0; i < n && s[i]; i++) put(t, (unsigned char)s[i] < ' ' ? '?' : s[i]);
  put(t, '"');
}

static void put_number(text *t, int64_t value) {
  char digits[20];
  int n = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do digits[n++] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (value < 0) put(t, '-');
  while (n > 0) put(t, digits[--n]);
}

static size_t length(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

static int equal(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

static void put_type(text *t, int32_t dtype, const int64_t *shape, int32_t rank) {
  put_string(t, lathe_dtype_name(dtype));
  put(t, '[');
  for (int32_t i = 0; i < rank; i++) {
    if (i > 0) put(t, ',');
    put_number(t, shape[i]);
  }
  put(t, ']');
}

/* fail keeps a message for lathe_last_error and returns the status. name is the package's, or NULL. The format knows %s,
 * %q (a string in quotes), %n (bytes and their number, in quotes), %d (int32_t), %z (size_t), %b (a size_t of bytes, with
 * the noun), %l (int64_t) and %t (the type of a const lathe_tensor_info *). */
static lathe_status fail(lathe_status status, const char *name, const char *format, ...) {
  text t = {last_error, last_error + sizeof last_error - 1, 0};
  put_string(&t, "lathe: ");
  if (name) {
    size_t n = length(name), most = sizeof last_error / 3; /* a long path leaves room for the cause */
    if (n > most) put_string(&t, "...");
    put_string(&t, n > most ? name + n - most : name);
    put_string(&t, ": ");
  }
  va_list args;
  va_start(args, format);
  for (const char *f = format; *f; f++) {
    if (*f != '%') {
      put(&t, *f);
      continue;
    }
    switch (*++f) {
      case 's': put_string(&t, va_arg(args, const char *)); break;
      case 'd': put_number(&t, va_arg(args, int32_t)); break;
      case 'z': put_number(&t, (int64_t)va_arg(args, size_t)); break;
      case 'l': put_number(&t, va_arg(args, int64_t)); break;
      case 'b': {
        size_t n = va_arg(args, size_t);
        put_number(&t, (int64_t)n);
        put_string(&t, n == 1 ? " byte" : " bytes");
        break;
      }
      case 'q': {
        const char *s = va_arg(args, const char *);
        put_name(&t, s, length(s));
        break;
      }
      case 'n': {
        const char *s = va_arg(args, const char *);
        put_name(&t, s, va_arg(args, size_t));
        break;
      }
      case 't': {
        const lathe_tensor_info *i = va_arg(args, const lathe_tensor_info *);
        put_type(&t, i->dtype, i->shape, i->rank);
        break;
      }
      default: put(&t, *f);
    }
  }
  va_end(args);
  finish(&t);
  return status;
}

const char *lathe_last_error(void) { return last_error; }

const char *lathe_status_text(lathe_status status) {
  static const char *const texts[] = {
      "success",
      "wrong argument",
      "a file is missing or cannot be read",
      "not a package, or a damaged one",
      "made for another version of the runtime",
      "made for another processor",
      "out of memory",
      "the model is in use by another thread",
      "an input was not set, or the model has not run",
      "the model computed an index or a size that is out of range",
  };
  return (int)status >= 0 && (int)status < COUNT(texts) ? texts[status] : "unknown status";
}

const char *lathe_dtype_name(int32_t dtype) {
  static const struct {
    int32_t dtype;
    const char *name;
  } names[] = {
      {LATHE_INT4, "int4"},
      {LATHE_INT8, "int8"},
      {LATHE_INT16, "int16"},
      {LATHE_INT32, "int32"},
      {LATHE_INT64, "int64"},
      {LATHE_BOOL, "bool"},
      {LATHE_UINT4, "uint4"},
      {LATHE_UINT8, "uint8"},
      {LATHE_UINT16, "uint16"},
      {LATHE_UINT32, "uint32"},
      {LATHE_UINT64, "uint64"},
      {LATHE_FLOAT16, "float16"},
      {LATHE_FLOAT32, "float32"},
      {LATHE_FLOAT64, "float64"},
      {LATHE_BFLOAT16, "bfloat16"},
      {LATHE_FLOAT8_E4M3FN, "float8_e4m3fn"},
      {LATHE_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz"},
      {LATHE_FLOAT8_E5M2, "float8_e5m2"},
      {LATHE_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz"},
  };
  for (int i = 0; i < COUNT(names); i++)
    if (names[i].dtype == dtype) return names[i].name;
  return "unknown";
}

size_t lathe_dtype_size(int32_t dtype) {
  return equal(lathe_dtype_name(dtype), "unknown") ? 0 : ((size_t)(dtype & 0xff) + 7) / 8;
}
