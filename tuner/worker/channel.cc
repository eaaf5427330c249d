#include "worker/channel.h"
