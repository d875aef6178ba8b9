#include "host/base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>

using namespace wattrig;

namespace {

TEST(Result, SystemErrorCarriesNumberAndText) {
    const Error error = system_error("opening /dev/x", ENOENT);
    EXPECT_EQ(error.kind, ErrorKind::system);
    EXPECT_EQ(error.os_error, ENOENT);
    EXPECT_EQ(error.message, "opening /dev/x: No such file or directory");
}

TEST(Result, ValueOfAnErrorIsABugOfOurs) {
    const Result<int> result = bad_input("bs: expected more");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    EXPECT_THROW((void)result.value(), std::logic_error);
    EXPECT_EQ(Result<int>(3).value(), 3);
}

}  // namespace
