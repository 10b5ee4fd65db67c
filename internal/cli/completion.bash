
# Without the package bash-completion: puts words together again that bash has cut at = and :.
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
    __mcpwire_init_completion()
    {
        local line=${COMP_LINE:0:COMP_POINT} word gap i
        COMPREPLY=() words=() cword=-1
        for ((i = 0; i <= COMP_CWORD; i++)); do
            word=${COMP_WORDS[i]}
            if [[ -z $line || $line != *"$word"* ]]; then
                word=$line # the cursor is within the word
            fi
            gap=${line%%"$word"*}
            [[ -n $word ]] || gap=$line
            line=${line#"$gap$word"}
            if ((i > 0)) && [[ -z $gap ]]; then
                words[cword]+=$word
            else
                words[++cword]=$word
            fi
        done
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }
fi
