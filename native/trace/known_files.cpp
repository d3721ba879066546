#include "trace/known_files.hpp"

#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "trace/alike.hpp"

namespace yantra {

KnownFiles::Read KnownFiles::read(const std::string& prefix, std::uint64_t first, std::uint64_t count,
                                  std::size_t most_bytes, bool kernels) {
    Read made;
    bool was_known = false;
    for (std::uint64_t rank = first; rank < first + count; ++rank) {
        look_up();
        std::string path = prefix + '.' + std::to_string(rank) + ".et";
        if (was_known && file_.is_same(path)) {
            made.numbers.push_back(made.numbers.back());
            continue;
        }
        if (!file_.load(path, most_bytes)) {
            break;
        }
        const std::uint64_t hash = hash_of(file_.content());
        std::optional<std::uint32_t> number = number_of_loaded(hash);
        was_known = number.has_value();
        if (!was_known) {
            std::shared_ptr<Graph> graph = file_.usual_graph(kernels);
            if (graph == nullptr) {
                break;
            }
            number = add(hash, std::move(path), std::nullopt);
            made.graphs.push_back(std::move(graph));
            made.ranks.push_back(rank);
        }
        made.numbers.push_back(*number);
    }
    return made;
}

std::optional<std::uint32_t> KnownFiles::number_of_loaded(std::uint64_t hash) {
    const auto [first, last] = known_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
        const Known& known = at->second;
        if (known.kept ? *known.kept == file_.content() : file_.is_same(known.path)) {
            return known.number;
        }
    }
    return std::nullopt;
}

std::vector<KnownFiles::Known> KnownFiles::alike(std::uint64_t hash) const {
    std::vector<Known> found;
    const auto [first, last] = known_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
        found.push_back(at->second);
    }
    return found;
}

std::uint32_t KnownFiles::add(std::uint64_t hash, std::string path, std::optional<std::string> kept) {
    const auto number = static_cast<std::uint32_t>(known_.size());
    known_.emplace(hash, Known{number, std::move(path), std::move(kept)});
    return number;
}

}  // namespace yantra
