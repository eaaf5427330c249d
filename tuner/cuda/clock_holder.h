#pragma once

namespace tunebook {

// The part of the worker program behind --lock-clocks: a process of its own that locks the SM clock of one GPU, says so, and resets it
// when its standard input closes, which happens however the process ends that started it; also on SIGINT, SIGTERM and SIGHUP. Only a
// SIGKILL of this process itself would leave the clock locked.
//
// Command line: PROGRAM --hold-clocks MHZ PCI_BUS_ID UUID (either of the last two may be ""). Writes "locked", or what went wrong, as
// one line to standard output. Returns the exit code.
bool is_clock_holder(int argc, char** argv);
int hold_clocks(int argc, char** argv);

}  // namespace tunebook
