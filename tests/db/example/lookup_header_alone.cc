#include <tunebook/lookup.h>

#include <type_traits>

static_assert(!std::is_copy_constructible_v<tunebook::Lookup> && std::is_nothrow_move_constructible_v<tunebook::Lookup>);
