#include "server/metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "support/errors.h"
#include "support/test_http_server.h"

namespace wick {
namespace {

// Reads the text format by its description: samples by name and labels as written, and the types of families.
struct Exposition {
  std::map<std::string, double> samples;
  std::map<std::string, std::string> types;
  std::map<std::string, std::string> help;

  explicit Exposition(const std::string& text) {
    EXPECT_TRUE(text.empty() || text.ends_with('\n'));
    std::istringstream in(text);
    std::string family;
    std::set<std::string> seen;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string mark, keyword, name, rest;
      if (line.starts_with("# ")) {
        words >> mark >> keyword >> name;
        std::getline(words >> std::ws, rest);
        auto& target = keyword == "HELP" ? help : types;
        EXPECT_TRUE(keyword == "HELP" || keyword == "TYPE") << line;
        EXPECT_TRUE(target.emplace(name, rest).second) << line;
        if (name == family) continue;
        family = name;
        EXPECT_TRUE(seen.insert(name).second) << "not in one group: " << name;
        continue;
      }
      const size_t name_end = line.find_first_of("{ ");
      size_t end = name_end;
      if (line[name_end] == '{') {
        bool quoted = false;
        for (end = name_end + 1; quoted || line.at(end) != '}'; ++end) {
          if (line[end] == '\\') {
            ++end;
          } else if (line[end] == '"') {
            quoted = !quoted;
          }
        }
        ++end;
      }
      name = line.substr(0, name_end);
      EXPECT_TRUE(name.starts_with(family)) << line;
      EXPECT_EQ(line.at(end), ' ') << line;
      const std::string value = line.substr(end + 1);
      const double parsed = value == "+Inf" ? std::numeric_limits<double>::infinity() : std::stod(value);
      EXPECT_TRUE(samples.emplace(line.substr(0, end), parsed).second) << "twice: " << line;
    }
  }
  double at(const std::string& sample) const {
    const auto found = samples.find(sample);
    if (found == samples.end()) ADD_FAILURE() << "no sample " << sample;
    return found == samples.end() ? -1 : found->second;
  }
};

TEST(Metrics, AreWrittenAsPrometheusReadsThem) {
  Metrics metrics;
  EXPECT_EQ(metrics.text(), "");
  metrics.counter("jobs_total", "Jobs.\nWith \\ and \"quotes\".", {{"kind", "a\"b\\c\nd"}}).add(2);
  metrics.counter("jobs_total", "", {{"kind", "plain"}}).add(0.5);
  metrics.counter("jobs_total", "", {{"kind", "plain"}}).add();
  metrics.gauge("heat", "Heat.").set(-3.25);
  metrics.gauge("heat", "").add(1);
  EXPECT_EQ(metrics.text(),
            "# HELP heat Heat.\n# TYPE heat gauge\nheat -2.25\n"
            "# HELP jobs_total Jobs.\\nWith \\\\ and \"quotes\".\n# TYPE jobs_total counter\n"
            "jobs_total{kind=\"a\\\"b\\\\c\\nd\"} 2\njobs_total{kind=\"plain\"} 1.5\n");
  metrics.gauge("heat", "").set(std::numeric_limits<double>::infinity());
  EXPECT_NE(metrics.text().find("heat +Inf\n"), std::string::npos);
}

TEST(Metrics, HistogramsAreCumulative) {
  Metrics metrics;
  Histogram& histogram = metrics.histogram("wait_seconds", "Waiting.", {0.1, 1, 10}, {{"queue", "x"}});
  const double values[] = {0.05, 0.1, 0.2, 5, 10, 11, 1e9, 0};
  double sum = 0;
  for (const double value : values) {
    histogram.observe(value);
    sum += value;
  }
  const Exposition read(metrics.text());
  EXPECT_EQ(read.types.at("wait_seconds"), "histogram");
  for (const double bound : {0.1, 1.0, 10.0}) {
    const auto below =
        std::count_if(std::begin(values), std::end(values), [&](double value) { return value <= bound; });
    EXPECT_EQ(read.at(cat("wait_seconds_bucket{queue=\"x\",le=\"", bound, "\"}")), static_cast<double>(below));
  }
  EXPECT_EQ(read.at("wait_seconds_bucket{queue=\"x\",le=\"+Inf\"}"), 8);
  EXPECT_EQ(read.at("wait_seconds_count{queue=\"x\"}"), 8);
  EXPECT_DOUBLE_EQ(read.at("wait_seconds_sum{queue=\"x\"}"), sum);
}

TEST(Metrics, NamesAreChecked) {
  Metrics metrics;
  for (const char* bad : {"", "1a", "a b", "a-b", "a{", "\xc3\xa9"}) {
    EXPECT_ERROR(metrics.counter(bad, ""), kInvalidArgument, "is not allowed");
    EXPECT_ERROR(metrics.counter("fine", "", {{bad, "x"}}), kInvalidArgument, "is not allowed");
  }
  EXPECT_ERROR(metrics.counter("fine", "", {{"le", "x"}}), kInvalidArgument, "label 'le'");
  EXPECT_ERROR(metrics.counter("fine", "", {{"a", "\xff"}}), kInvalidArgument, "label 'a'");
  metrics.counter("fine", "");
  EXPECT_ERROR(metrics.gauge("fine", ""), kInvalidArgument, "metric fine is of another kind");
  EXPECT_ERROR(metrics.histogram("h", "", {1, 1}), kInvalidArgument, "must rise");
  EXPECT_EQ(Exposition(metrics.text()).at("fine"), 0);
}

TEST(Metrics, CountWhatManyThreadsAdd) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 5000; ++n) {
        metrics.counter("n_total", "", {{"thread", cat(i % 2)}}).add();
        metrics.histogram("h", "", {0.5}).observe(n % 2);
        if (n % 1000 == 0) Exposition read(metrics.text());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Exposition read(metrics.text());
  EXPECT_EQ(read.at("n_total{thread=\"0\"}"), 10'000);
  EXPECT_EQ(read.at("n_total{thread=\"1\"}"), 10'000);
  EXPECT_EQ(read.at("h_bucket{le=\"0.5\"}"), 10'000);
  EXPECT_EQ(read.at("h_count"), 20'000);
  EXPECT_EQ(read.at("h_sum"), 10'000);
}

TEST(Metrics, LookedUpValuesAreFreshInEachText) {
  Metrics metrics;
  int calls = 0;
  metrics.before_text([&] { metrics.gauge("calls", "").set(++calls); });
  EXPECT_EQ(Exposition(metrics.text()).at("calls"), 1);
  EXPECT_EQ(Exposition(metrics.text()).at("calls"), 2);
}

TEST(Metrics, TheServerCountsByRouteAndStatus) {
  HttpServerOptions options;
  options.metrics = std::make_shared<Metrics>();
  TestHttpServer server(options);
  HttpClient client = server.client();
  for (int i = 0; i < 3; ++i) client.get("/health");
  client.get("/show/a");
  client.get("/show/b");
  client.get("/random/1");
  client.get("/random/2");
  client.request("DELETE", "/health");
  const std::string text = options.metrics->text();
  const Exposition during(text);
  EXPECT_EQ(during.at("wick_http_connections"), 1);
  client.close();
  server.destroy();
  const Exposition after(options.metrics->text());
  EXPECT_EQ(after.types.at("wick_http_requests_total"), "counter");
  EXPECT_EQ(after.at("wick_http_requests_total{route=\"/health\",status=\"200\"}"), 3);
  EXPECT_EQ(after.at("wick_http_requests_total{route=\"/health\",status=\"405\"}"), 1);
  EXPECT_EQ(after.at("wick_http_requests_total{route=\"/show/{name}\",status=\"200\"}"), 2);
  EXPECT_EQ(after.at("wick_http_requests_total{route=\"other\",status=\"404\"}"), 2);
  EXPECT_EQ(after.at("wick_http_request_seconds_count{route=\"/health\"}"), 4);
  EXPECT_GT(after.at("wick_http_sent_bytes_total"), 1000);
  EXPECT_EQ(after.at("wick_http_connections"), 0);
}

}  // namespace
}  // namespace wick
