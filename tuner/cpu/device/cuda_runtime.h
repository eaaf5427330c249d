#pragma once
// Nothing to add: tunebook_cpu.h comes before every kernel.
