#include "session/sample_compiler.h"

#include "core/error.h"
#include "session/compile_pool.h"

namespace tunebook {

std::vector<CompileReply> compile_samples(const std::string& kind, const std::vector<SampleJob>& jobs,
                                          const std::function<void(std::size_t done)>& progress) {
  EventLoop loop;
  CompilePoolOptions options;
  options.worker.program = worker_program(kind);
  options.max_threads_per_worker = max_compile_threads(kind);
  CompilePool pool(loop, options);
  std::vector<CompileReply> replies(jobs.size());
  std::size_t done = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SampleJob& job = jobs[i];
    CompileRequest request;
    request.id = static_cast<std::int64_t>(i);
    request.source = job.reference ? job.kernel->reference : job.kernel->kernel;
    request.instantiation = job.reference ? instantiate_reference(job.kernel->spec, job.problem)
                                          : instantiate(job.kernel->spec, job.problem, job.configuration);
    request.arch = job.arch;
    request.emit = job.emit;
    pool.submit(std::move(request), 0, [&, i](CompileResult result) {
      if (!result.environment_error.empty()) throw EnvironmentError(result.environment_error);
      replies[i] = std::move(result.reply);
      ++done;
      if (progress) progress(done);
    });
  }
  loop.run_until([&] { return done == jobs.size(); });
  return replies;
}

}  // namespace tunebook
