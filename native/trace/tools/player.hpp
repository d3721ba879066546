// Player: the template of a pipeline device, as copies of the passes that it plays
// (encode_pass.hpp). Trade-off: passes refer to each other by keys, looked up for each copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tools/stamp.hpp"

namespace yantra {

enum class PassSource : std::uint8_t { forward, backward, neighbour, reductions };

struct Segment {
    // The node's place, the segment, the place there.
    struct Inner {
        std::uint64_t place = 0;
        std::uint32_t segment = 0;
        std::uint64_t earlier = 0;
        bool is_control = false;
    };
    // On another pass's operation, by key.
    struct Outer {
        std::uint64_t place = 0;
        PassSource source = PassSource::forward;
        std::uint32_t key = 0;
        bool is_control = false;
    };
    struct Chain {
        std::string group;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };
    std::shared_ptr<const Trace> block;
    std::optional<std::uint64_t> first_compute, last_compute;   // places
    std::vector<Chain> chains;
    std::vector<std::uint64_t> starts;   // places that wait for all earlier computations
    std::vector<Inner> inner;
    std::vector<Outer> outer;
};

using PlaceInPass = std::pair<std::uint32_t, std::uint64_t>;

struct PassCopy {
    std::vector<Segment> segments;
    std::vector<PlaceInPass> places;        // by key
    std::vector<std::uint32_t> blocking;    // keys of what the device waits for after the pass
    std::optional<PassSource> direction;    // by which others look for it: forward or backward
    std::optional<PassSource> neighbour;    // the direction of the pass that makes its tensor on this device,
    std::optional<std::uint32_t> beside;    // and its chunk
    std::uint32_t chunk = 0;
};

class Player {
public:
    Player(const Trace& head, std::vector<std::string> gradient_groups)
        : stamper_(head), gradient_groups_(std::move(gradient_groups)) {}

    std::uint32_t add(PassCopy pass) {
        passes_.push_back(std::move(pass));
        return static_cast<std::uint32_t>(passes_.size() - 1);
    }
    // The pass and segment of each turn. Throws std::invalid_argument if a pass waits for one not
    // played.
    void play(std::span<const std::uint32_t> passes, std::span<const std::int64_t> microbatches,
              std::span<const std::pair<std::uint32_t, std::uint32_t>> turns, std::int64_t tags_each);
    // Another step may follow.
    void finish(std::uint32_t pass);

    Stamper& stamper() { return stamper_; }
    const Stamper& stamper() const { return stamper_; }

private:
    struct Played {
        std::uint32_t pass = 0;
        std::vector<std::uint64_t> firsts;   // ids of the first nodes of its segments
    };

    void stamp(const Segment& segment, Played& played, std::optional<std::int64_t> microbatch,
               std::int64_t tag_base);
    void tie(const Segment& segment, const Played& played, std::optional<std::int64_t> microbatch);
    void tie_outer(const Segment::Outer& wait, const PassCopy& pass, std::optional<std::int64_t> microbatch);
    std::uint64_t id_of(const Played& played, std::uint32_t key) const;
    std::uint64_t* last_of(const std::string& group);
    static std::uint64_t name_of(PassSource direction, std::uint32_t chunk, std::int64_t microbatch);

    Stamper stamper_;
    std::vector<std::string> gradient_groups_;
    std::vector<PassCopy> passes_;
    std::vector<StampEdge> edges_;       // of the copy being made
    std::optional<std::uint64_t> computed_;
    std::vector<std::pair<std::string, std::uint64_t>> communicated_;   // the last of each group, by first use
    std::vector<std::uint64_t> blocking_;
    std::unordered_map<std::uint64_t, Played> played_;
};

}  // namespace yantra
