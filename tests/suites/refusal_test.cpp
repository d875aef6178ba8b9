// What a suite may not be. Each refusal is one sentence that names the file, the key, what was expected and what came.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "host/suites/plan.hpp"

namespace wattrig::suites {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t gib = 1u << 30;

std::string refusal_of(const std::string& text, const PlanRequest& request = {}) {
    const auto plan = make_plan_from_text(text, "t.json", request);
    EXPECT_FALSE(plan) << text.substr(0, 200);
    if (plan) return "";
    const Error error = plan.error();  // a copy: error() returns one at each call
    EXPECT_EQ(error.kind, ErrorKind::bad_input);
    EXPECT_EQ(std::count(error.message.begin(), error.message.end(), '\n'), 0) << "one line";
    EXPECT_LT(error.message.size(), 700u);
    return error.message;
}

std::string suite(const std::string& rest) { return R"({"format":"wattrig.suite/1","name":"t","title":"T",)" + rest + "}"; }
std::string with_step(const std::string& step) { return suite("\"steps\":[" + step + "]"); }
std::string with_io(const std::string& more) {
    return with_step(R"({"do":"io","pattern":"randread","block_size":"4 KiB","runtime":"1 s")" +
                     (more.empty() ? "" : "," + more) + "}");
}

struct Bad {
    std::string text;
    std::string message;  // the whole of it after "t.json: "
};

TEST(Refusal, JsonThatIsNone) {
    EXPECT_THAT(refusal_of(""), StartsWith("t.json: line 1, column 1: syntax error"));
    EXPECT_THAT(refusal_of("{\n  \"format\": \"wattrig.suite/1\",\n  \"name\" \"t\"\n}"),
                StartsWith("t.json: line 3, column 12: syntax error"));
    EXPECT_THAT(refusal_of("{\"a\": 1} x"), HasSubstr("line 1, column 10: "));
    EXPECT_THAT(refusal_of("{\"a\": \"\xFF\"}"), HasSubstr("line 1, column 8: "));
    EXPECT_THAT(refusal_of("{\"a\": 1e999}"), HasSubstr("1e999"));
    EXPECT_EQ(refusal_of("[]"), "t.json: expected a suite as an object, came an empty list");
    EXPECT_EQ(refusal_of("null"), "t.json: expected a suite as an object, came null");
    EXPECT_EQ(refusal_of(R"({"a":1,"a":2})"), "t.json: has the key \"a\" twice in one object");
    EXPECT_EQ(refusal_of(std::string(100'000, '[')), "t.json: is nested 100000 deep, at most 24 is allowed");
    EXPECT_EQ(refusal_of(std::string((1u << 20) + 1, ' ')), "t.json: expected a suite of at most 1 MiB, came 1048577 bytes");
}

TEST(Refusal, EachSaysWhereWhatWasExpectedAndWhatCame) {
    const std::vector<Bad> table{
        // the suite
        {"{}", "the key \"format\" is missing, expected a text"},
        {R"({"format":"wattrig.suite/2","name":"t","title":"T","steps":[]})",
         "/format: expected \"wattrig.suite/1\", came \"wattrig.suite/2\""},
        {R"({"format":1,"name":"t","title":"T","steps":[]})", "/format: expected a text of 1 to 1000 characters, came 1"},
        {R"({"format":"wattrig.suite/1","title":"T","steps":[]})", "the key \"name\" is missing, expected a text"},
        {R"({"format":"wattrig.suite/1","name":"My Suite","title":"T","steps":[]})",
         "/name: expected small letters, digits, '-', '_' and '.', at most 64, came \"My Suite\""},
        {R"({"format":"wattrig.suite/1","name":"t","title":"","steps":[]})",
         "/title: expected a text of 1 to 1000 characters, came \"\""},
        {R"({"format":"wattrig.suite/1","name":"t","title":"T"})", "the key \"steps\" is missing, expected a list of steps"},
        {suite(R"("steps":[])"), "/steps: expected a list of 1 to 1000 steps, came an empty list"},
        {suite(R"("steps":{})"), "/steps: expected a list of 1 to 1000 steps, came an object"},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"step":1)"), "unknown key \"step\"; was \"steps\" meant?"},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"notes":"x")"), "/notes: expected a list of texts, came \"x\""},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"notes":[3])"), "/notes/0: expected a text, came 3"},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"prefill":"no")"), "/prefill: expected true or false, came \"no\""},
        {suite(R"("defaults":{"bs":"4 KiB"},"steps":[{"do":"idle","duration":"1 s"}])"),
         "/defaults: unknown key \"bs\"; was \"block_size\" meant?"},
        // steps
        {with_step("5"), "/steps/0: expected a step as an object, came 5"},
        {with_step("{}"),
         "/steps/0: the key \"do\" is missing, expected one of io, idle, cool_off, fill, purge, feature, group"},
        {with_step(R"({"do":"idel","duration":"1 s"})"),
         "/steps/0/do: expected one of io, idle, cool_off, fill, purge, feature, group, came \"idel\"; was \"idle\" meant?"},
        {with_step(R"({"do":"idle"})"), "/steps/0: an idle step needs a duration above 0 and of at most 30 d"},
        {with_step(R"({"do":"idle","duration":10})"),
         "/steps/0/duration: expected a time with its unit such as \"60 s\", came 10"},
        {with_step(R"({"do":"idle","duration":"10"})"),
         "/steps/0/duration: expected a time of at most 366 d such as \"60 s\", \"2 min\" or \"250 ms\", came \"10\""},
        {with_step(R"({"do":"idle","duration":"0 s"})"), "/steps/0: an idle step needs a duration above 0 and of at most 30 d"},
        {with_step(R"({"do":"idle","duration":"1 s","readings":{"count":3,"each":"1 s"}})"),
         "/steps/0/readings: readings need count and each, and stand in the place of duration"},
        {with_step(R"({"do":"cool_off"})"), "/steps/0: a cool_off needs at_most, a time above 0 and of at most 1 d"},
        {with_step(R"({"do":"cool_off","at_most":"60 s","within_kelvin":-1})"),
         "/steps/0/within_kelvin: expected a number from 0.1 to 100, came -1"},
        {with_step(R"({"do":"fill","runtime":"5 s"})"),
         "/steps/0/runtime: a fill does not know runtime, expected some of pattern, block_size, offset, span, depth, workers, "
         "cover, seed"},
        {with_step(R"({"do":"fill","pattern":"read"})"),
         "/steps/0/pattern: a fill writes, expected write or randwrite, came read"},
        {with_step(R"({"do":"fill","passes":0})"), "/steps/0/passes: expected a whole number from 1 to 100, came 0"},
        {with_step(R"({"do":"purge","method":"frmat"})"),
         "/steps/0/method: expected one of any, secure_erase, format, sanitize, discard, recreate, came \"frmat\"; was "
         "\"format\" meant?"},
        {with_step(R"({"do":"feature","value":1})"), "/steps/0: a feature step needs feature, such as \"write_cache\""},
        {with_step(R"({"do":"group","steps":[]})"), "/steps/0/steps: expected a list of 1 to 1000 steps, came an empty list"},
        {with_step(R"({"do":"group","times":0,"steps":[{"do":"idle","duration":"1 s"}]})"),
         "/steps/0/times: expected a whole number from 1 to 10000, came 0"},
        {with_step(R"({"do":"idle","duration":"1 s","depth":4})"),
         "/steps/0: unknown key \"depth\"; known here: do, name, note, scored, skip_when, duration, readings, "
         "power_management"},
        // parameters
        {with_step(R"({"do":"io","block_size":"4 KiB","runtime":"1 s"})"),
         "/steps/0: an I/O step needs a pattern, such as \"randread\""},
        {with_step(R"({"do":"io","pattern":"randread","runtime":"1 s"})"),
         "/steps/0: an I/O step needs a block_size, such as \"4 KiB\""},
        {with_step(R"({"do":"io","pattern":"randread","block_size":"4 KiB"})"),
         "/steps/0: an I/O step needs an end: runtime, bytes, operations, or a count of bursts"},
        {with_io(R"("depth":0)"), "/steps/0/depth: expected a whole number from 1 to 1024, came 0"},
        {with_io(R"("depth":-4)"), "/steps/0/depth: expected a whole number from 1 to 1024, came -4"},
        {with_io(R"("depth":1e300)"), "/steps/0/depth: expected a whole number from 1 to 1024, came 1e+300"},
        {with_io(R"("depth":2.5)"), "/steps/0/depth: expected a whole number from 1 to 1024, came 2.5"},
        {with_io(R"("depth":"4")"), "/steps/0/depth: expected a whole number from 1 to 1024, came \"4\""},
        {with_io(R"("depth":[1,2])"), "/steps/0/depth: expected a whole number from 1 to 1024, came a list of 2"},
        {with_io(R"("workers":257)"), "/steps/0/workers: expected a whole number from 1 to 256, came 257"},
        {with_io(R"("iodepth":4)"), "/steps/0: unknown key \"iodepth\"; was \"depth\" meant?"},
        {with_io(R"("dept":4)"), "/steps/0: unknown key \"dept\"; was \"depth\" meant?"},
        {with_io(R"("span":"16 GBytes")"),
         "/steps/0/span: expected a size in whole bytes such as \"4 KiB\", \"16 GB\" or \"128k\" (= 128 KiB), came \"16 "
         "GBytes\""},
        {with_io(R"("span":"16 KB")"),
         "/steps/0/span: \"16 KB\" is ambiguous, write KiB, MiB, GiB (powers of 1024) or kB, MB, GB (powers of 1000)"},
        {with_io(R"("span":-5)"), "/steps/0/span: expected a size such as \"4 KiB\" or \"16 GB\", came -5"},
        {with_io(R"("span":1e300)"), "/steps/0/span: expected a size such as \"4 KiB\" or \"16 GB\", came 1e+300"},
        {with_io(R"("span":"2 KiB")"), "/steps/0/span: a span of 2 KiB is smaller than one block of 4 KiB"},
        {with_io(R"("span":"150 %")"), "/steps/0/span: a span cannot be more than 100 % of the target"},
        {with_io(R"("span":"1000001 B")"), "/steps/0/span: expected a multiple of 512 bytes, came 1000001"},
        {with_io(R"("offset":100)"), "/steps/0/offset: expected a multiple of 512 bytes, came 100"},
        {with_io(R"("read_percent":70)"),
         "/steps/0/read_percent: read_percent contradicts the pattern randread, expected rw or randrw"},
        {with_io(R"("block_sizes":[{"size":"4 KiB","percent":100}])"),
         "/steps/0: block_size and block_sizes contradict each other, expected one of them"},
        {with_io(R"("rate":"1 MB/s","rate_iops":5)"),
         "/steps/0: rate and rate_iops contradict each other, expected one of them"},
        {with_io(R"("rate_iops":0)"), "/steps/0/rate_iops: expected a number from 0.001 to 1000000000, came 0"},
        {with_io(R"("rate_process":"poisson")"), "/steps/0/rate_process: rate_process needs rate or rate_iops"},
        {with_io(R"("rate_iops":5,"bursts":{"bytes":"1 MiB","duty_percent":20})"),
         "/steps/0/bursts: bursts and a fixed rate contradict each other, expected one of them"},
        {with_io(R"("bursts":{"bytes":"1 MiB"})"),
         "/steps/0/bursts: bursts need duty_percent, the share of the time that the drive is busy"},
        {with_io(R"("bursts":{"bytes":"1 MiB","operations":5,"duty_percent":20})"),
         "/steps/0/bursts: bursts need exactly one of bytes and operations, above 0"},
        {with_io(R"("bursts":{"bytes":"1 MiB","duty_percent":0})"),
         "/steps/0/bursts/duty_percent: expected a number from 0.01 to 100, came 0"},
        {with_io(R"("bytes":"1 GB","bursts":{"bytes":"1 MiB","duty_percent":20,"count":3})"),
         "/steps/0/bursts: a count of bursts and a limit of bytes contradict each other, expected one of them"},
        {with_io(R"("fsync":4,"end_fsync":true)"),
         "/steps/0/end_fsync: fsync and end_fsync contradict each other, expected one of them"},
        {with_io(R"("zones":[{"access_percent":80,"span_percent":20}])"),
         "/steps/0/zones: all zones together must be 100 % of the accesses and 100 % of the span, came 80 % and 20 %"},
        {with_io(R"("compress_percent":101)"), "/steps/0/compress_percent: expected a number from 0 to 100, came 101"},
        {with_io(R"("batching":"fast")"), "/steps/0/batching: expected one of natural, throughput, strict, came \"fast\""},
        {with_io(R"("beside":{"block_size":"4 KiB"})"),
         "/steps/0/beside: a load beside a step needs a pattern, such as \"randread\""},
        {with_io(R"("files":{"size":"1 GiB"})"), "/steps/0/files: files need exactly one of count and until_full"},
        {with_io(R"("skip_when":{"target_above":1})"),
         "/steps/0/skip_when: unknown key \"target_above\"; known here: block_size_below_logical_block, target_below"},
        {with_step(R"({"do":"io","pattern":"randread","block_size":"5000 B","runtime":"1 s"})"),
         "/steps/0/block_size: expected a multiple of 512 bytes, came \"5000 B\""},
        {with_step(R"({"do":"io","pattern":"randread","block_size":"4 KiB","runtime":"0 s"})"),
         "/steps/0/runtime: expected a time from 1 ms to 30 d, came \"0 s\""},
        {with_step(R"({"do":"io","pattern":"randread","block_sizes":[{"size":"4 KiB","percent":60}],"runtime":"1 s"})"),
         "/steps/0/block_sizes: the shares of all block sizes must be 100 % together, came 60 %"},
        {with_step(R"({"do":"io","pattern":"read","cover":true,"block_size":"4 KiB","runtime":"1 s"})"),
         "/steps/0/cover: cover needs a random pattern"},
        // sweeps, labels, scores, charts
        {with_io(R"("sweep":[])"), "/steps/0/sweep: expected a list of 1 to 8 axes, outermost first, came an empty list"},
        {with_io(R"("sweep":[{"axis":"dept","values":[1]}])"),
         "/steps/0/sweep/0/axis: unknown parameter \"dept\"; was \"depth\" meant?"},
        {with_io(R"("sweep":[{"axis":"depth","values":[]}])"),
         "/steps/0/sweep/0/values: expected a list of 1 to 1000 values, or a range, came an empty list"},
        {with_io(R"("sweep":[{"axis":"depth","values":[1,0]}])"),
         "/steps/0/sweep/0/values/1: expected a whole number from 1 to 1024, came 0"},
        {with_io(R"("sweep":[{"axis":"depth","values":[4,4]}])"), "/steps/0/sweep/0/values/1: the value 4 is there twice"},
        {with_io(R"("sweep":[{"axis":"depth","values":{"from":1,"to":32}}])"),
         "/steps/0/sweep/0/values: a range needs from, to (not below it) and exactly one of factor (from above 0) and step"},
        {with_io(R"("sweep":[{"axis":"depth","values":{"from":1,"to":1e14,"step":1}}])"),
         "/steps/0/sweep/0/values: the range has more than 1000 values"},
        {with_io(R"("depth":1,"sweep":[{"axis":"depth","values":[1,2]}])"),
         "/steps/0/depth: depth is set here and swept by /steps/0/sweep/0, expected one of them"},
        {with_io(R"("sweep":[{"axis":"depth","values":[1]},{"axis":"depth","values":[2]}])"),
         "/steps/0/sweep/1: depth is swept by two axes"},
        {with_io(R"("sweep":[{"cases":[{}]}])"), "/steps/0/sweep/0/cases/0: a case sets at least one parameter"},
        {with_io(R"("label":"a"},{"do":"io","pattern":"read","block_size":"4 KiB","runtime":"1 s","label":"a")"),
         "/steps/1: the label \"a\" is that of another step; give the steps different names"},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"scores":[{"name":"s","over":{"depth":1}}])"),
         "/scores/0: the score \"s\" names cells that no scored I/O step has"},
        {suite(
             R"("steps":[{"do":"io","pattern":"read","block_size":"4 KiB","runtime":"1 s"}],"scores":[{"name":"s","weights":[1,2]}])"),
         "/scores/0: expected one weight for each of 1 steps, came 2"},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"charts":[{"kind":"pie"}])"),
         "/charts/0/kind: expected one of line, bar, table, surface, position, convergence, steady_state, time, came \"pie\""},
        {suite(R"("steps":[{"do":"idle","duration":"1 s"}],"charts":[{"kind":"line","x":"deep"}])"),
         "/charts/0/x: expected a parameter, position, time, round or repeat, came \"deep\""},
    };
    EXPECT_GE(table.size(), 60u);
    for (const auto& bad : table) EXPECT_EQ(refusal_of(bad.text), "t.json: " + bad.message);
}

TEST(Refusal, ExplodingSuitesAreStoppedEarly) {
    const std::string axis = R"({"axis":"compress_percent","values":{"from":0,"to":99,"step":1}})";
    EXPECT_THAT(
        refusal_of(with_io(
            R"("sweep":[)" + axis +
            R"(,{"axis":"depth","values":{"from":1,"to":1000,"step":1}},{"axis":"workers","values":{"from":1,"to":200,"step":1}}])")),
        HasSubstr("expands to more than 10000 steps"));
    std::string nested = R"({"do":"idle","duration":"1 s"})";
    for (int i = 0; i < 8; ++i) nested = R"({"do":"group","times":10000,"steps":[)" + nested + "]}";
    EXPECT_THAT(refusal_of(with_step(nested)), HasSubstr("expands to more than 10000 steps"));
    nested = R"({"do":"idle","duration":"1 s"})";
    for (int i = 0; i < 4; ++i)
        nested =
            R"({"do":"group","times":1000,"steps":[{"do":"group","until_steady":{"window":3,"most_rounds":5,"track":[{"depth":1}]},"steps":[)" +
            nested + "]}]}";
    EXPECT_THAT(refusal_of(with_step(nested)), HasSubstr("cannot stand inside another"));
    EXPECT_THAT(
        refusal_of(with_step(
            R"({"do":"group","times":1000,"steps":[{"do":"group","until_steady":{"window":3,"most_rounds":50,"track":[{"depth":1}]},
            "steps":[{"do":"io","pattern":"read","block_size":"4 KiB","depth":1,"runtime":"1 s"}]}]})")),
        HasSubstr("more than 10000 steps"));
}

TEST(Refusal, WhatDoesNotFitTheTargetIsSaidBeforeAnyInputOrOutput) {
    EXPECT_EQ(refusal_of(with_io(R"("span":"64 GB")"), {.target_size = gib}),
              "t.json: /steps/0/span: a span of 64 GB at offset 0 does not fit the target of 1 GiB; take a larger target, or "
              "make it smaller with "
              "span=SIZE or --scale");
    EXPECT_THAT(refusal_of(with_io(R"("offset":"2 GiB")"), {.target_size = gib}),
                HasSubstr("/steps/0/offset: the offset 2147483648 lies behind the end"));
    EXPECT_THAT(refusal_of(with_step(R"({"do":"io","pattern":"randread","block_size":"0.5 KiB","runtime":"1 s"})"),
                           {.target_size = gib, .logical_block = 4096}),
                StartsWith("t.json: /steps/0: "))
        << "the engine's own check, with the place in front";
    EXPECT_THAT(refusal_of(with_io(""), {.logical_block = 1000}), HasSubstr("logical block must be a power of two"));
}

}  // namespace
}  // namespace wattrig::suites
