// Feed: the rule by which groups are submitted. Each registers itself in post_training/feeds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "post_training/job.hpp"

namespace yantra::post_training {

// What a rule may look at; counts of groups.
struct Seen {
    u32 submitted = 0;
    u32 running = 0;      // not resolved
    u32 accepted = 0;     // ever
    u32 buffered = 0;
    u32 filtered = 0;
    u32 steps_done = 0;
    bool is_unfinished = false;    // a submitted sample is
    bool trainer_waits = false;
};

class Feed {
public:
    Feed() = default;
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;
    virtual ~Feed() = default;

    // Whether one more group is submitted. It is then.
    virtual bool allows(const Seen& seen) = 0;
};

struct FeedKind {
    using Make = std::unique_ptr<Feed> (*)(const Job& job);

    std::string name;
    std::string help;   // one line
    Make make = nullptr;
};

const std::vector<FeedKind>& feed_kinds();
// Null if unknown.
const FeedKind* find_feed(std::string_view name);

struct RegisteredFeed {
    [[gnu::cold]] explicit RegisteredFeed(FeedKind kind);
};

}  // namespace yantra::post_training
