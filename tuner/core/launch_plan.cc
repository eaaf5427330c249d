#include "core/launch_plan.h"
