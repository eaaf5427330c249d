#include "worker/message.h"
