#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <system_error>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/sweep_run.h"
#include "cli/usage.h"
#include "core/error.h"

namespace tunebook {
namespace {

// A caller may have closed stdin, stdout or stderr. What is opened next would take their numbers, and messages would be written
// into it: into a book or a worker's socket.
void fill_standard_descriptors() {
  for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0; fd = open("/dev/null", O_RDWR | O_CLOEXEC)) {
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
    fcntl(fd, F_SETFD, 0);
  }
}

// A result that did not arrive is no success: the disk may be full.
int exit_code_after_output(int exit_code) {
  const int failed_with = errno;
  std::cout.flush();
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before && std::cout.good()) return exit_code;
  if (failed_before) errno = failed_with;
  if (errno != EPIPE) fmt::print(stderr, "tunebook: the result could not be written to stdout: {}\n", std::strerror(errno));
  return cli::kFailed;
}

}  // namespace
}  // namespace tunebook

int main(int argc, char** argv) {
  using namespace tunebook;
  fill_standard_descriptors();
  cli::Invocation invocation;
  invocation.argc = argc;
  invocation.argv = argv;

  CLI::App app{"Tunes CUDA kernels and keeps what it learns in a book that applications can ask."};
  app.name("tunebook");
  app.set_version_flag("--version", "tunebook " TUNEBOOK_VERSION);
  app.require_subcommand(1);
  app.failure_message(cli::usage_error);
  app.footer("A first look:  tunebook devices;  tunebook tune matmul --shape 512,512,512 --budget 40;  "
             "tunebook best matmul --shape 512,512,512\n"
             "Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 \"no\" (no match, check failed, regression)");
  cli::add_devices(app, invocation);
  cli::add_calibrate(app, invocation);
  cli::add_list(app, invocation);
  cli::add_check(app, invocation);
  cli::add_space(app, invocation);
  cli::add_tune(app, invocation);
  cli::add_run(app, invocation);
  cli::add_emit(app, invocation);
  cli::add_best(app, invocation);
  cli::add_sweep(app, invocation);
  cli::add_learn(app, invocation);
  cli::add_portfolio(app, invocation);
  cli::add_quality(app, invocation);
  cli::add_publish(app, invocation);
  cli::add_merge(app, invocation);
  cli::add_export(app, invocation);
  cli::add_replay(app, invocation);
  cli::add_report(app, invocation);
  cli::add_compare(app, invocation);
  cli::add_doctor(app, invocation);

  try {
    app.parse(cli::split_on_finish(argc, argv).words, argv);
    return exit_code_after_output(invocation.exit_code);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with code 0.
    return app.exit(error) == 0 ? exit_code_after_output(cli::kDone) : cli::kBadInput;
  } catch (const InputError& error) {
    fmt::print(stderr, "tunebook: {}\n", error.what());
    return cli::kBadInput;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) {  // a long result fails while it is printed
      errno = error.code().value();
      return exit_code_after_output(cli::kFailed);
    }
    fmt::print(stderr, "tunebook: {}\n", error.what());
    return cli::kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tunebook: {}\n", error.what());
    return cli::kFailed;
  }
}
