#include "core/template_folder.h"
