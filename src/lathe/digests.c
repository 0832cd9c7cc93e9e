/* Part of lathe.c: digests. */

/* crc32c continues a CRC-32C. It notices damage, and is no signature. Eight bytes a step with 8 KB of tables on the stack, or,
 * without an operating system, four bits a step with 64 bytes. */
static uint32_t crc32c(uint32_t sum, const unsigned char *b, size_t n) {
#if __STDC_HOSTED__
  enum { STEP = 8, BITS = 8 };
#else
  enum { STEP = 1, BITS = 4 };
#endif
  uint32_t table[STEP][1 << BITS];
  for (uint32_t i = 0; i < 1 << BITS; i++) {
    uint32_t c = i;
    for (int k = 0; k < BITS; k++) c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
    table[0][i] = c;
  }
  sum = ~sum;
#if __STDC_HOSTED__
  for (int k = 1; k < STEP; k++)
    for (int i = 0; i < 1 << BITS; i++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
  for (; n >= STEP; n -= STEP, b += STEP) {
    uint32_t low = sum ^ (b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    sum = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^ table[3][b[4]] ^
          table[2][b[5]] ^ table[1][b[6]] ^ table[0][b[7]];
  }
  while (n-- > 0) sum = sum >> 8 ^ table[0][(sum ^ *b++) & 255];
#else
  while (n-- > 0) {
    sum ^= *b++;
    sum = sum >> 4 ^ table[0][sum & 15];
    sum = sum >> 4 ^ table[0][sum & 15];
  }
#endif
  return ~sum;
}

/* flags_of gives the descriptor's flags; those of older compilers have none. */
static uint32_t flags_of(const lathe_library *l) {
  return l->size >= offsetof(lathe_library, params_digest) + sizeof l->params_digest ? l->flags : 0;
}

/* region_count gives the number of regions; descriptors of older compilers have none. */
static int32_t region_count(const lathe_library *l) {
  return l->size >= offsetof(lathe_library, region_count) + sizeof l->region_count ? l->region_count : 0;
}

/* check_weights compares weights, of which params are those that lie beside the library, with their digest if there is one. */
static lathe_status check_weights(const char *name, const lathe_library *l, const void *params, size_t bytes) {
  if (!(flags_of(l) & LATHE_PARAMS_DIGEST) || l->param_count == 0) return LATHE_OK;
  if (l->weights) params = l->weights, bytes = l->weights_size;
  if (crc32c(0, params, bytes) == l->params_digest) return LATHE_OK;
  return fail(LATHE_ERROR_PACKAGE, name,
              "the weights are damaged: their bytes do not have the digest that was written with them; copy the package again, or recompile the model");
}
