#include "core/value.h"
