// SPDX-License-Identifier: Apache-2.0
// The one binary.
int main() { return 2; }
