# Everything comes from Debian packages (scripts/setup.sh lists them).
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(OpenSSL REQUIRED)  # gRPC's targets name its targets
find_package(gRPC CONFIG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CURL REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED COMPONENTS core)
find_package(PkgConfig REQUIRED)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(LIBCRYPTO REQUIRED IMPORTED_TARGET libcrypto)
find_library(HTTP_PARSER_LIBRARY http_parser REQUIRED)

# What each folder uses beside the folders of the DAG.
set(SHOAL_LIBS_base absl::status absl::statusor absl::strings absl::time absl::flat_hash_map
    absl::synchronization yaml-cpp nlohmann_json::nlohmann_json spdlog::spdlog fmt::fmt
    prometheus-cpp::core PkgConfig::XXHASH PkgConfig::LIBCRYPTO Threads::Threads)
set(SHOAL_LIBS_text PkgConfig::UTF8PROC)
set(SHOAL_LIBS_router gRPC::grpc++ gRPC::grpc++_reflection ${HTTP_PARSER_LIBRARY})
set(SHOAL_LIBS_worker gRPC::grpc++ gRPC::grpc++_reflection)
set(SHOAL_LIBS_app gRPC::grpc++ CURL::libcurl)
