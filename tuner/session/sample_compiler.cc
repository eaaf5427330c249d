#include "session/sample_compiler.h"

#include "core/error.h"
#include "session/compile_pool.h"
#include "session/subject.h"

namespace tunebook {
namespace {

std::string kind_of(const SampleJob& job) { return job.arch == "cpu" ? "cpu" : "cuda"; }

CompileRequest compile_request(const SampleJob& job) {
  const KernelSpec& spec = job.kernel->spec;
  CompileRequest request;
  request.source = job.reference ? job.kernel->reference : job.kernel->kernel;
  request.instantiation =
      job.reference ? instantiate_reference(spec, job.problem) : instantiate(spec, job.problem, job.configuration);
  request.arch = job.reference
                     ? job.arch
                     : compile_architecture(spec, job.problem, job.configuration, stand_in_device(job.arch), job.arch);
  request.emit = job.emit;
  return request;
}

}  // namespace

std::vector<CompileReply> compile_samples(const std::vector<SampleJob>& jobs,
                                          const std::function<void(std::size_t done)>& progress) {
  std::vector<CompileReply> replies(jobs.size());
  std::size_t done = 0;
  // One kind after the other: each has as many compile processes as the machine bears.
  for (const std::string kind : {"cuda", "cpu"}) {
    std::size_t until = done;
    for (const SampleJob& job : jobs) until += kind_of(job) == kind ? 1 : 0;
    if (until == done) continue;
    EventLoop loop;
    CompilePoolOptions options;
    options.worker.program = worker_program(kind);
    options.max_threads_per_worker = max_compile_threads(kind);
    CompilePool pool(loop, options);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (kind_of(jobs[i]) != kind) continue;
      CompileRequest request = compile_request(jobs[i]);
      request.id = static_cast<std::int64_t>(i);
      pool.submit(std::move(request), 0, [&, i](CompileResult result) {
        if (!result.environment_error.empty()) throw EnvironmentError(result.environment_error);
        replies[i] = std::move(result.reply);
        ++done;
        if (progress) progress(done);
      });
    }
    loop.run_until([&] { return done == until; });
  }
  return replies;
}

}  // namespace tunebook
