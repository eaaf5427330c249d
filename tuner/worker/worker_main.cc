#include "worker/worker_main.h"
