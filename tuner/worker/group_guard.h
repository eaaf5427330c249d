#pragma once

namespace tunebook {

// Starts a process that kills this process's group when this process ends in whatever way, also when all of the group is stopped
// (the coordinator stops compilers while a kernel is timed): the children of a killed compiler driver would stay, stopped for ever. Does nothing
// unless this process leads its group. To be called before threads are started, by the thread that lives longest.
void guard_group();

}  // namespace tunebook
