/* The implementation of stb_image. No side of a picture may be longer than 16384 pixels. */
#define STBI_MAX_DIMENSIONS 16384
#define STB_IMAGE_IMPLEMENTATION
#include "stb_image.h"
