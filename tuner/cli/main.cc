#include <clocale>
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/usage.h"
#include "core/error.h"

int main(int argc, char** argv) {
  using namespace tunebook;
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
             "Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 \"no\" (no match, check failed)");
  cli::add_devices(app, invocation);
  cli::add_list(app, invocation);
  cli::add_check(app, invocation);
  cli::add_space(app, invocation);
  cli::add_tune(app, invocation);
  cli::add_run(app, invocation);
  cli::add_emit(app, invocation);
  cli::add_best(app, invocation);
  cli::add_doctor(app, invocation);

  try {
    app.parse(argc, argv);
    return invocation.exit_code;
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with code 0.
    return app.exit(error) == 0 ? cli::kDone : cli::kBadInput;
  } catch (const InputError& error) {
    fmt::print(stderr, "tunebook: {}\n", error.what());
    return cli::kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tunebook: {}\n", error.what());
    return cli::kFailed;
  }
}
