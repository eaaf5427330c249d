#include <tunebook/tunebook.h>

_Static_assert(TUNEBOOK_ABI_VERSION == 1, "a new version needs a new soname");
_Static_assert(sizeof(tunebook_status) == 4 && sizeof(tunebook_tier) == 4, "fixed on every platform");
