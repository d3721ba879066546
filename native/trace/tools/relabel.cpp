#include "trace/tools/relabel.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

namespace yantra {

namespace {

void add_with_layers(std::string& made, std::string_view text, std::int64_t layers) {
    constexpr std::string_view word = "layers.";
    std::size_t done = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        std::int64_t number = 0;
        const char* const begin = text.data() + at + word.size();
        const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
        if ((at > 0 && text[at - 1] != ' ') || error != std::errc() || *begin == '-') {
            continue;
        }
        made += text.substr(done, at + word.size() - done);
        std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> digits{};
        made.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number + layers).ptr);
        done = static_cast<std::size_t>(end - text.data());
    }
    made += text.substr(done);
}

}  // namespace

std::string with_layers(std::string_view text, std::int64_t layers) {
    std::string made;
    add_with_layers(made, text, layers);
    return made;
}

Trace relabelled(const Trace& block, const Relabel& by) {
    Trace made = block;
    const std::uint32_t layer = block.attribute_names.find("layer");
    const std::uint32_t chunk = block.attribute_names.find("chunk");
    const std::uint32_t tag = block.attribute_names.find("comm_tag");
    std::string_view before;   // the previous node's layer, and its replacement
    Text moved;
    for (Attribute& item : made.attributes) {
        if (item.name == layer && item.kind == AttributeKind::string) {
            if (const std::string_view text = block.text_of(item); text != before) {
                before = text;
                moved.begin = made.text.size();
                add_with_layers(made.text, text, by.layers);
                moved.size = made.text.size() - moved.begin;
            }
            item.value = moved.begin;
            item.count = static_cast<std::uint32_t>(moved.size);
        } else if (item.name == chunk) {
            item.value = static_cast<std::uint64_t>(by.chunk);
        } else if (item.name == tag) {
            const bool is_inner = static_cast<std::int64_t>(item.value) >= by.first_inner;
            item.value += static_cast<std::uint64_t>(is_inner ? by.inner_tags : by.tags);
        }
    }
    made.name_bytes.clear();
    for (std::size_t node = 0; node < block.size(); ++node) {
        add_with_layers(made.name_bytes, block.name(node), by.layers);
        made.name_begin[node + 1] = made.name_bytes.size();
    }
    return made;
}

}  // namespace yantra
