#ifndef TUNEBOOK_TUNEBOOK_H
#define TUNEBOOK_TUNEBOOK_H

/* Tunebook's lookup for C and everything that speaks C: which configuration is best for this kernel, this shape, this GPU?
 *
 *   tunebook_lookup* book = NULL;
 *   if (tunebook_open("/data/book.db", NULL, &book) != TUNEBOOK_OK) die(tunebook_last_error());
 *   tunebook_query* query = tunebook_query_new("matmul");
 *   tunebook_query_set_size(query, "m", 4096); ...
 *   tunebook_answer* answer = tunebook_answer_new();
 *   if (tunebook_best(book, query, answer) == TUNEBOOK_OK) {
 *     int64_t tile = 0;
 *     tunebook_answer_int(answer, "BM", &tile);
 *   }
 *
 * Ownership. What tunebook_..._new(), tunebook_open() and tunebook_explain() give belongs to the caller and goes back to the function
 * named with it, once; NULL is allowed there and does nothing. Text that is passed in is copied, and is UTF-8 ended by a zero byte.
 * Text that an accessor gives belongs to its answer and lives until that answer is filled again, cleared or freed.
 * An answer stays valid beyond its lookup.
 *
 * Threads. A tunebook_lookup may be used by any number of threads at once; only tunebook_close() needs that nobody else uses it. Options, queries
 * and answers are for one thread at a time; a query that nobody changes may be asked by many threads at once.
 *
 * Cost. A question that a thread asks again, with a query and an answer that it keeps, allocates nothing and takes no lock: a hash
 * and a comparison.
 *
 * Errors. Functions that can fail return a tunebook_status. After one that is an error, tunebook_last_error() has the message, for this
 * thread. Nothing is ever thrown. Objects passed as NULL where one is needed are TUNEBOOK_INVALID_ARGUMENT.
 *
 * Stability. Within ABI version 1 functions and constants are only added: objects are opaque, no structure has a size that a caller
 * knows. The soname carries the version. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TUNEBOOK_API __attribute__((visibility("default")))
#else
#define TUNEBOOK_API
#endif

/* The version of this header; a library with the same number, or a later library of the same soname, serves it. */
#define TUNEBOOK_ABI_VERSION 1

/* The version of the library, for programs that load it at run time. */
TUNEBOOK_API int32_t tunebook_abi_version(void);
/* Of the product: "0.1.0". Never freed. */
TUNEBOOK_API const char* tunebook_version(void);

typedef int32_t tunebook_status;
enum {
  TUNEBOOK_OK = 0,
  TUNEBOOK_NO_ANSWER = 1,         /* no error: nothing is known that fits; or an accessor: there is no such value */
  TUNEBOOK_INVALID_ARGUMENT = 2,  /* a question that fits no version of the kernel, a value of another type, NULL */
  TUNEBOOK_BAD_BOOK = 3,          /* the book, a declaration or the environment: see the message */
  TUNEBOOK_OUT_OF_MEMORY = 4,
  TUNEBOOK_INTERNAL = 5
};

/* What went wrong in this thread's latest call that returned an error: one line, what and what to do. "" if nothing did. Lives until
 * this thread's next call that fails. */
TUNEBOOK_API const char* tunebook_last_error(void);

typedef struct tunebook_options tunebook_options;
typedef struct tunebook_lookup tunebook_lookup;
typedef struct tunebook_query tunebook_query;
typedef struct tunebook_answer tunebook_answer;

/* ---- Opening a book ---- */

/* How to open a book: everything at its default. NULL: no memory. */
TUNEBOOK_API tunebook_options* tunebook_options_new(void);
TUNEBOOK_API void tunebook_options_free(tunebook_options* options);
/* Where `near` ends: a distance (of log2 of the sizes) >= 0, infinity for no end. Default 2. */
TUNEBOOK_API tunebook_status tunebook_options_set_near_cap(tunebook_options* options, double distance);
/* A change of the book is seen at the latest after this time; 0: looked for with every question. Default 1000. */
TUNEBOOK_API tunebook_status tunebook_options_set_refresh_interval_ms(tunebook_options* options, int64_t milliseconds);
/* Questions that are not answered exactly are appended to this file, one JSON object per line; several processes may share it. NULL: none. */
TUNEBOOK_API tunebook_status tunebook_options_set_record_misses(tunebook_options* options, const char* path);
TUNEBOOK_API tunebook_status tunebook_options_set_record_misses_per_second(tunebook_options* options, int32_t most);
/* Adds a kernel's declaration (the text of kernel.json), for the tier `default` when the book does not have it. */
TUNEBOOK_API tunebook_status tunebook_options_add_spec(tunebook_options* options, const char* json);
/* Not 0: answer from the added declarations alone; the path is not opened. */
TUNEBOOK_API tunebook_status tunebook_options_set_no_book(tunebook_options* options, int32_t no_book);
/* Adds a published book that is asked before the preset `default`. One that is missing or cannot be read is no error. */
TUNEBOOK_API tunebook_status tunebook_options_add_shipped_book(tunebook_options* options, const char* path);
/* Answered questions that are kept per thread. Default 4096. */
TUNEBOOK_API tunebook_status tunebook_options_set_kept_questions(tunebook_options* options, int64_t most);

/* Opens the book read-only. `options` may be NULL and may be freed afterwards. *lookup is NULL after an error. */
TUNEBOOK_API tunebook_status tunebook_open(const char* path, const tunebook_options* options, tunebook_lookup** lookup);
/* No thread may be asking any more. */
TUNEBOOK_API void tunebook_close(tunebook_lookup* lookup);

/* ---- The question ---- */

/* Fields of a device's identity and its limits. What is not given is not compared. Numbers and texts share one numbering. */
typedef int32_t tunebook_device_field;
enum {
  TUNEBOOK_DEVICE_KIND = 0,                          /* text: "cuda" (the default of a query) or "cpu" */
  TUNEBOOK_DEVICE_NAME = 1,                          /* text: "NVIDIA H200" */
  TUNEBOOK_DEVICE_INSTRUCTION_SET = 2,               /* text: cpu */
  TUNEBOOK_DEVICE_HOST_COMPILER = 3,                 /* text: cpu */
  TUNEBOOK_DEVICE_COMPUTE_CAPABILITY = 16,           /* number: 90 for sm_90 */
  TUNEBOOK_DEVICE_SM_COUNT = 17,                     /* number */
  TUNEBOOK_DEVICE_MEMORY_GIB = 18,                   /* number: total memory, rounded to GiB */
  TUNEBOOK_DEVICE_MAX_THREADS_PER_BLOCK = 19,        /* number */
  TUNEBOOK_DEVICE_SHARED_BYTES_PER_BLOCK_OPTIN = 20, /* number */
  TUNEBOOK_DEVICE_REGISTERS_PER_BLOCK = 21           /* number */
};

/* A question about this kernel. NULL: no memory, or no name. */
TUNEBOOK_API tunebook_query* tunebook_query_new(const char* kernel);
TUNEBOOK_API void tunebook_query_free(tunebook_query* query);
TUNEBOOK_API tunebook_status tunebook_query_set_kernel(tunebook_query* query, const char* kernel);
/* A size of the problem ("m", 4096), and a categorical dimension ("dtype", "f32"). Set again: replaced. */
TUNEBOOK_API tunebook_status tunebook_query_set_size(tunebook_query* query, const char* dimension, int64_t size);
TUNEBOOK_API tunebook_status tunebook_query_set_category(tunebook_query* query, const char* dimension, const char* value);
/* Forgets the problem; kernel, device and the rest stay. */
TUNEBOOK_API tunebook_status tunebook_query_clear_problem(tunebook_query* query);
TUNEBOOK_API tunebook_status tunebook_query_set_device_text(tunebook_query* query, tunebook_device_field field, const char* value);
TUNEBOOK_API tunebook_status tunebook_query_set_device_int(tunebook_query* query, tunebook_device_field field, int64_t value);
/* The hash of the kernel at hand, so that the answer can tell whether it is stale. "" or NULL: not known. */
TUNEBOOK_API tunebook_status tunebook_query_set_kernel_hash(tunebook_query* query, const char* hash);
/* "time" (the default) or "energy". */
TUNEBOOK_API tunebook_status tunebook_query_set_objective(tunebook_query* query, const char* objective);
/* "cold" (the default), "warm", or a whole method. */
TUNEBOOK_API tunebook_status tunebook_query_set_method(tunebook_query* query, const char* method);

/* ---- The answer ---- */

/* An answer to be filled, again and again if wished. NULL: no memory. */
TUNEBOOK_API tunebook_answer* tunebook_answer_new(void);
TUNEBOOK_API void tunebook_answer_free(tunebook_answer* answer);
/* 1 if both hold the very same answer, as a repeated question gives until the book changes: what was derived from the one serves for the
 * other. 0 if not, or if one is empty. */
TUNEBOOK_API int32_t tunebook_answer_same(const tunebook_answer* x, const tunebook_answer* y);
/* Lets go of what it holds. */
TUNEBOOK_API void tunebook_answer_clear(tunebook_answer* answer);

/* The best configuration known. TUNEBOOK_NO_ANSWER: neither a winner nor a preset fits; the answer is empty then, as after an error. */
TUNEBOOK_API tunebook_status tunebook_best(const tunebook_lookup* lookup, const tunebook_query* query, tunebook_answer* answer);

/* The first `count` different configurations, the most promising first: the answer of tunebook_best(), then what the model of time
 * puts next, then those of other problems, then presets. Fills answers[0] to answers[*found - 1] and clears the others; `answers` has
 * `count` answers of the caller. TUNEBOOK_NO_ANSWER: *found is 0. Slower than tunebook_best(). */
TUNEBOOK_API tunebook_status tunebook_ranked(const tunebook_lookup* lookup, const tunebook_query* query, size_t count,
                                             tunebook_answer* const* answers, size_t* found);

/* What was considered for this question and why each candidate but the answer was passed over, as one JSON object:
 * {"answer": {..}|null, "considered": [{"tier", "obstacle", "reason", "candidate": {..}}], "left_out": N}, at most `most` candidates.
 * For people: slower than tunebook_best(). *json goes back to tunebook_text_free(). */
TUNEBOOK_API tunebook_status tunebook_explain(const tunebook_lookup* lookup, const tunebook_query* query, int64_t most, char** json);
/* The whole answer as one JSON object, as in "answer" above. *json goes back to tunebook_text_free(). */
TUNEBOOK_API tunebook_status tunebook_answer_json(const tunebook_answer* answer, char** json);
TUNEBOOK_API void tunebook_text_free(char* text);

/* Accessors. Of an empty answer (or NULL) they give TUNEBOOK_NO_ANSWER, -1, 0 or NULL. */

typedef int32_t tunebook_tier;
enum {
  TUNEBOOK_TIER_EXACT = 0,
  TUNEBOOK_TIER_NEAR = 1,
  TUNEBOOK_TIER_SAME_ARCHITECTURE = 2,
  TUNEBOOK_TIER_FAR = 3,
  TUNEBOOK_TIER_DEFAULT = 4,
  TUNEBOOK_TIER_PREDICTED = 5, /* what the book's model of time puts first; asked after exact */
  TUNEBOOK_TIER_SHIPPED = 6    /* from an added shipped book; asked before default */
};
TUNEBOOK_API tunebook_tier tunebook_answer_tier(const tunebook_answer* answer);
TUNEBOOK_API const char* tunebook_tier_name(tunebook_tier tier); /* "exact", ...; "unknown". Never freed. */
/* Euclidean distance of log2 of the sizes; 0 for exact and default. */
TUNEBOOK_API double tunebook_answer_distance(const tunebook_answer* answer);

typedef int32_t tunebook_stale;
enum { TUNEBOOK_STALE_NO = 0, TUNEBOOK_STALE_YES = 1, TUNEBOOK_STALE_UNKNOWN = 2 };
/* Whether the kernel has changed since; unknown if the question gave no hash. */
TUNEBOOK_API tunebook_stale tunebook_answer_stale(const tunebook_answer* answer);

typedef int32_t tunebook_type;
enum { TUNEBOOK_INT = 0, TUNEBOOK_BOOL = 1, TUNEBOOK_TEXT = 2 };

/* The configuration by name. A value of another type: TUNEBOOK_INVALID_ARGUMENT; no such parameter: TUNEBOOK_NO_ANSWER. */
TUNEBOOK_API tunebook_status tunebook_answer_int(const tunebook_answer* answer, const char* parameter, int64_t* value);
TUNEBOOK_API tunebook_status tunebook_answer_bool(const tunebook_answer* answer, const char* parameter, int32_t* value);
TUNEBOOK_API tunebook_status tunebook_answer_text(const tunebook_answer* answer, const char* parameter, const char** value);

/* The configuration and the tuned problem (none for default) by index, in declared order. `type` says which of the values is set: number for
 * TUNEBOOK_INT and TUNEBOOK_BOOL, text for TUNEBOOK_TEXT. Pointers may be NULL. An index out of range: TUNEBOOK_NO_ANSWER. */
TUNEBOOK_API size_t tunebook_answer_value_count(const tunebook_answer* answer);
TUNEBOOK_API tunebook_status tunebook_answer_value(const tunebook_answer* answer, size_t index, const char** name, tunebook_type* type,
                                                   int64_t* number, const char** text);
TUNEBOOK_API size_t tunebook_answer_problem_count(const tunebook_answer* answer);
TUNEBOOK_API tunebook_status tunebook_answer_problem(const tunebook_answer* answer, size_t index, const char** name, tunebook_type* type,
                                                     int64_t* number, const char** text);

/* Where it was tuned; empty for default. NULL or 0 if the field is of the other type. */
TUNEBOOK_API const char* tunebook_answer_device_text(const tunebook_answer* answer, tunebook_device_field field);
TUNEBOOK_API int64_t tunebook_answer_device_int(const tunebook_answer* answer, tunebook_device_field field);

/* Where it comes from; "" where it does not apply. */
typedef int32_t tunebook_provenance;
enum {
  TUNEBOOK_SESSION = 0,      /* 32 hex digits */
  TUNEBOOK_TUNED_AT_UTC = 1, /* ISO 8601 */
  TUNEBOOK_KERNEL_HASH = 2,  /* of the version that was tuned */
  TUNEBOOK_OBJECTIVE = 3,
  TUNEBOOK_METHOD = 4
};
TUNEBOOK_API const char* tunebook_answer_provenance(const tunebook_answer* answer, tunebook_provenance field);

/* Time of one launch on the tuned problem and device, in us, and its 95 % interval. TUNEBOOK_NO_ANSWER: not known (default). */
TUNEBOOK_API tunebook_status tunebook_answer_median_us(const tunebook_answer* answer, double* median_us);
TUNEBOOK_API tunebook_status tunebook_answer_interval_us(const tunebook_answer* answer, double* low_us, double* high_us);
/* What was recorded of one thread and one block; TUNEBOOK_NO_ANSWER: not known. */
TUNEBOOK_API tunebook_status tunebook_answer_registers_per_thread(const tunebook_answer* answer, int64_t* registers);
TUNEBOOK_API tunebook_status tunebook_answer_shared_bytes(const tunebook_answer* answer, int64_t* bytes);

/* What the answer is expected to lose against the best configuration of the asked problem, as a share of the speed (0.05: the best
 * takes 0.95 of its time), and the share that 80 % of such answers lose at most. TUNEBOOK_NO_ANSWER: not known. */
TUNEBOOK_API tunebook_status tunebook_answer_expected_loss(const tunebook_answer* answer, double* share);
TUNEBOOK_API tunebook_status tunebook_answer_loss_bound(const tunebook_answer* answer, double* share);
/* Time of one launch on the asked problem, in us, as the model expects it. TUNEBOOK_NO_ANSWER: of another tier than predicted. */
TUNEBOOK_API tunebook_status tunebook_answer_predicted_us(const tunebook_answer* answer, double* predicted_us);
/* Of shipped: the file name of the book that answered, and how its answer matched. Else "" and -1. */
TUNEBOOK_API const char* tunebook_answer_source(const tunebook_answer* answer);
TUNEBOOK_API tunebook_tier tunebook_answer_shipped_tier(const tunebook_answer* answer);

#ifdef __cplusplus
}
#endif

#endif /* TUNEBOOK_TUNEBOOK_H */
