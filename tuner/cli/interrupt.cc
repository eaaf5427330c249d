#include "cli/interrupt.h"

#include <csignal>

namespace tunebook::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t second_ends = 1;

void note_signal(int signal) {
  if (interrupted != 0 && second_ends != 0) {
    // The user insists. Workers die with this process.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  interrupted = 1;
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(Again again) {
  interrupted = 0;
  second_ends = again == Again::ends_program ? 1 : 0;
  install(note_signal);
}
Interrupt::~Interrupt() { install(SIG_DFL); }
bool Interrupt::requested() { return interrupted != 0; }

}  // namespace tunebook::cli
