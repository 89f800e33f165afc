// SPDX-License-Identifier: Apache-2.0
// Our side of bench/tokenizers_peer.py: for every line on standard input encodes all documents of a
// file once and prints the seconds it took and the number of tokens.
//   tokenizer_bench MODEL DOCUMENTS     documents are separated by zero bytes
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "text/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tokenizer_bench MODEL DOCUMENTS\n";
    return 2;
  }
  const auto model = shoal::text::LoadTextModel(argv[1]);
  if (!model.ok()) {
    std::cerr << model.status() << "\n";
    return 1;
  }
  std::ifstream file(argv[2], std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  std::vector<std::string> documents;
  for (std::string document; std::getline(all, document, '\0');) documents.push_back(document);
  shoal::text::EncodeOptions options;
  options.add_special_tokens = false;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    size_t tokens = 0;
    for (const std::string& document : documents) {
      const auto ids = model->tokenizer->Encode(document, options);
      if (!ids.ok()) {
        std::cerr << ids.status() << "\n";
        return 1;
      }
      tokens += ids->size();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%.6f %zu\n", took.count(), tokens);
    std::fflush(stdout);
  }
  return 0;
}
