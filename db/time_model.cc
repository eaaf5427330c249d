#include "db/time_model.h"
