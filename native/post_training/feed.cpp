#include "post_training/feed.hpp"

#include <algorithm>
#include <utility>

namespace yantra::post_training {

namespace {

std::vector<FeedKind>& all_feeds() {
    static std::vector<FeedKind> all;
    return all;
}

}  // namespace

const std::vector<FeedKind>& feed_kinds() { return all_feeds(); }

const FeedKind* find_feed(std::string_view name) {
    const auto& all = all_feeds();
    const auto found = std::find_if(all.begin(), all.end(), [&](const FeedKind& of) { return of.name == name; });
    return found == all.end() ? nullptr : &*found;
}

RegisteredFeed::RegisteredFeed(FeedKind kind) {
    auto& all = all_feeds();
    const auto place = std::find_if(all.begin(), all.end(), [&](const FeedKind& of) { return kind.name < of.name; });
    all.insert(place, std::move(kind));
}

}  // namespace yantra::post_training
