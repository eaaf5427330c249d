#include <tunebook/tunebook.h>

static_assert(sizeof(tunebook_status) == 4 && sizeof(tunebook_tier) == 4, "fixed on every platform");
