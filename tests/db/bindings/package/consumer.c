#include <tunebook/tunebook.h>

#include <stdio.h>

int main(int argc, char** argv) {
  tunebook_lookup* book = NULL;
  if (argc != 2 || tunebook_open(argv[1], NULL, &book) != TUNEBOOK_OK) {
    fprintf(stderr, "%s\n", tunebook_last_error());
    return 1;
  }
  tunebook_query* query = tunebook_query_new("vector_add");
  tunebook_query_set_size(query, "n", 4096);
  tunebook_query_set_device_text(query, TUNEBOOK_DEVICE_KIND, "cpu");
  tunebook_answer* answer = tunebook_answer_new();
  const tunebook_status status = tunebook_best(book, query, answer);
  printf("%s\n", tunebook_tier_name(tunebook_answer_tier(answer)));
  tunebook_answer_free(answer);
  tunebook_query_free(query);
  tunebook_close(book);
  return status;
}
