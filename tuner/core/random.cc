#include "core/random.h"
