#include "core/outcome.h"
