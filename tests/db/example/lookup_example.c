/* Usage: lookup_example_c BOOK KERNEL M N K */
#include <tunebook/tunebook.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tunebook_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  tunebook_lookup* book = NULL;
  if (tunebook_open(argv[1], NULL, &book) != TUNEBOOK_OK) return fail("open");
  tunebook_query* query = tunebook_query_new(argv[2]);
  tunebook_query_set_size(query, "m", atoll(argv[3]));
  tunebook_query_set_size(query, "n", atoll(argv[4]));
  tunebook_query_set_size(query, "k", atoll(argv[5]));
  tunebook_query_set_device_int(query, TUNEBOOK_DEVICE_COMPUTE_CAPABILITY, 90);

  int result = 0;
  tunebook_answer* answer = tunebook_answer_new();
  switch (tunebook_best(book, query, answer)) {
    case TUNEBOOK_OK:
      printf("%s", tunebook_tier_name(tunebook_answer_tier(answer)));
      for (size_t i = 0; i < tunebook_answer_value_count(answer); ++i) {
        const char* name = NULL;
        const char* text = NULL;
        tunebook_type type = TUNEBOOK_INT;
        int64_t number = 0;
        tunebook_answer_value(answer, i, &name, &type, &number, &text);
        if (type == TUNEBOOK_TEXT) {
          printf(" %s=%s", name, text);
        } else if (type == TUNEBOOK_BOOL) {
          printf(" %s=%s", name, number ? "true" : "false");
        } else {
          printf(" %s=%" PRId64, name, number);
        }
      }
      printf("\n");
      break;
    case TUNEBOOK_NO_ANSWER: result = 3; break;
    default: result = fail("best");
  }
  tunebook_answer_free(answer);
  tunebook_query_free(query);
  tunebook_close(book);
  return result;
}
