#include "core/json_text.h"
