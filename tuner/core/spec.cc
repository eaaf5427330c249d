#include "core/spec.h"
