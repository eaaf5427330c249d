#include "core/scalar.h"
